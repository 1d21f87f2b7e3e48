"""A kernel to boot: its file, unpacked if need be, and which addresses are whose."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.core.errors import BadInput
from rewriter.core.target.boots import Boots
from rewriter.difftest.boot.rules import WAITING
from rewriter.elf.compressed import is_gzip, open_gzip
from rewriter.elf.headers import PT_LOAD, printable
from rewriter.elf.image import Image, parse
from rewriter.identify.kallsyms.symbols import with_kallsyms

USER, FIRMWARE, KERNEL, WAIT = "user", "firmware", "kernel", "waiting"


@dataclass(frozen=True)
class Kernel:
    """An ELF kernel; `waits` are the [start, end) of its functions that only wait."""

    image: Image
    waits: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        """The file's name."""
        return self.image.name

    def owners(self, boots: Boots) -> tuple[tuple[int, str], ...]:
        """Whose the addresses from each on are, ascending from 0."""
        loaded = [s.p_vaddr for s in self.image.segments if s.p_type == PT_LOAD]
        if not loaded or min(loaded) <= boots.user_end:
            raise BadInput(
                f"{self.name}: is no kernel: it is loaded where user programs are",
                hint=f"kernels lie above {boots.user_end:#x}",
            )
        owners = {0: boots.low, boots.user_start: USER, boots.user_end: FIRMWARE}
        owners |= {min(loaded): KERNEL, boots.high: FIRMWARE}
        # Functions may touch: an end must not hide the start of the next.
        owners |= {end: KERNEL for _, end in self.waits}
        owners |= {start: WAIT for start, _ in self.waits}
        return tuple(sorted((at, owner) for at, owner in owners.items() if at < 1 << 64))


def kernel(data: bytes, name: str) -> Kernel:
    """A kernel from the bytes of a file, `vmlinux` or `vmlinux.gz`; BadInput.

    A stripped one has the functions of its kallsyms.
    """
    content = open_gzip(data, printable(name)).content if is_gzip(data) else data
    image = with_kallsyms(parse(content, name))
    waits = {
        (image.code_address(s), image.code_address(s) + s.st_size)
        for s in image.symbols
        if s.name.partition(".")[0] in WAITING and s.st_size
    }
    return Kernel(image, tuple(sorted(waits)))
