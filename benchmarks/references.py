"""Routines that others wrote for the 21264, assembled from the sources that Debian packages carry.

Linux 6.1 and glibc 2.36.  They are compared with: nothing of them is in this repository.  Each is
assembled for the EV67, linked by itself to a fixed address, and loaded as a `Code`.  In the place
of the headers that they include stand a few definitions of our own.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fixtures.inputs import cache_dir, tool, write_aside
from fixtures.sources import GLIBC, LINUX, unpacked
from rewriter.elf.image import Image, load
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_of, function_named
from targets.alpha import Alpha

BASE = 0x180000000
_LDAH_GP, _LDA_GP = 0x27BB, 0x23BD  # the upper halves of: ldah $29,x($27); lda $29,x($29)
_FLAGS = ("-mcpu=ev67", "-D__KERNEL__", "-w")
_EXPORT = "#define EXPORT_SYMBOL(name)\n"
_HEADERS = {
    "asm/export.h": _EXPORT,
    "linux/export.h": _EXPORT,
    "sysdep.h": """
#include <asm/regdef.h>
#define ENTRY(name) .globl name; .align 4; .ent name, 0; name: .frame sp, 0, ra
#define END(name) .end name
#define USEPV_PROF no
#define cfi_startproc
#define cfi_endproc
#define cfi_return_column(register)
#define libc_hidden_def(name)
#define libc_hidden_builtin_def(name)
#define weak_extern(name) .weak name;
#define weak_alias(name, other) .weak other; other = name
#define strong_alias(name, other) .globl other; other = name
""",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """One routine: the files it is made of, what is defined for them, and the CPU they are for.

    `symbol` is its name where that is not the contract's.
    """

    contract: str
    origin: str
    files: tuple[str, ...]
    defines: tuple[str, ...] = ()
    symbol: str = ""
    cpu: str = "ev67"

    @property
    def name(self) -> str:
        """What it is called in a table."""
        return f"{self.origin} {self.contract}"


_LIB, _EV6, _EV67 = "arch/alpha/lib", "sysdeps/alpha/alphaev6", "sysdeps/alpha/alphaev67"
_COUNTS = "CONFIG_ALPHA_EV67"


def _linux() -> Iterator[Reference]:
    def one(name: str, *files: str, **more: object) -> Reference:
        return Reference(name, "linux", tuple(f"{_LIB}/{file}" for file in files), **more)  # type: ignore[arg-type]

    yield one("memcpy", "ev6-memcpy.S")
    yield one("memset", "ev6-memset.S")
    yield one("strlen", "ev67-strlen.S")
    yield one("strchr", "ev67-strchr.S")
    yield one("strrchr", "ev67-strrchr.S")
    yield one("memchr", "ev6-memchr.S", defines=(_COUNTS,))
    yield one("memchr", "ev6-memchr.S", cpu="ev6")
    yield one("strcpy", "strcpy.S", "ev6-stxcpy.S")
    yield one("strcat", "ev67-strcat.S", "ev6-stxcpy.S")
    yield one("strncpy", "strncpy.S", "ev6-stxncpy.S")
    yield one("strncat", "ev67-strncat.S", "ev6-stxncpy.S")
    for name in ("clear_page", "copy_page", "__clear_user", "__copy_user", "csum_ipv6_magic"):
        yield one(name, f"ev6-{name.strip('_')}.S")
    yield one("udiv_qrnnd", "udiv-qrnnd.S", symbol="__udiv_qrnnd")
    for name, macro in (("div", "DIV"), ("rem", "REM")):
        for size in ("l", "q"):
            defines = (macro, "INTSIZE") if size == "l" else (macro,)
            for sign in ("", "u"):
                whole = f"{name}{size}{sign}"
                yield one(whole, "ev6-divide.S", defines=defines, symbol=f"__{whole}")


def _glibc() -> Iterator[Reference]:
    def one(name: str, *files: str, symbol: str = "") -> Reference:
        return Reference(name, "glibc", files, symbol=symbol)

    stxcpy = f"{_EV6}/stxcpy.S"
    yield one("memcpy", f"{_EV6}/memcpy.S")
    yield one("memset", f"{_EV6}/memset.S")
    for name in ("strlen", "strchr", "strrchr", "rawmemchr", "ffs", "ffsll"):
        yield one(name, f"{_EV67}/{name}.S")
    yield one("strcpy", "sysdeps/alpha/strcpy.S", stxcpy)
    yield one("stpcpy", f"{_EV67}/stpcpy.S", stxcpy)
    yield one("strcat", f"{_EV67}/strcat.S", stxcpy)


REFERENCES = (*_linux(), *_glibc())
_TREES = MappingProxyType({tree.name: tree for tree in (LINUX, GLIBC)})


def code(reference: Reference) -> Code:
    """The routine, ready to run; `Missing` when sources or tools are."""
    image = load(_linked(reference, unpacked(_TREES[reference.origin])))
    found = function_named(image, reference.symbol or reference.contract)
    assert found is not None, reference
    shared = _shared(image, found[0])
    plain = code_of(image, reference.name, found[0], 0, Alpha().relocated, shared)
    return Code(plain.name, plain.parts, plain.entry, plain.shared, tuple(_resumes(image)))


def _linked(reference: Reference, tree: Path) -> Path:
    """The linked file, made once for each content of its sources."""
    sources = [tree / file for file in reference.files]
    defines = [f"-D{name}" for name in reference.defines]
    parts = [path.read_bytes() for path in sources]
    key = hashlib.sha256(b"\0".join([*parts, repr((defines, _FLAGS, _HEADERS)).encode()]))
    path = cache_dir("references") / f"{reference.contract}-{key.hexdigest()[:16]}"
    if path.is_file():
        return path
    with tempfile.TemporaryDirectory() as place:
        objects = [_assembled(source, defines, Path(place)) for source in sources]
        entry = f"--entry={reference.symbol or reference.contract}"
        link = (
            tool("alpha-linux-gnu-ld"),
            "--relax",
            "-N",
            entry,
            f"-Ttext={BASE:#x}",
            *objects,
            "-o",
        )
        return write_aside(path, lambda aside: _run((*link, str(aside))))


def _assembled(source: Path, defines: Sequence[str], place: Path) -> str:
    for name, text in _HEADERS.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="ascii")
    target = str(place / f"{source.stem}.o")
    compiler = tool("alpha-linux-gnu-gcc")
    _run((compiler, "-c", *_FLAGS, *defines, f"-I{place}", str(source), "-o", target))
    return target


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{shutil.which(command[0])}: {done.stderr}")


def _shared(image: Image, entry: int) -> int:
    """What the routine makes of $29, if it begins with LDAH and LDA of it."""
    words = [int.from_bytes(image.read(entry + at, 4), "little") for at in (0, 4)]
    if [word >> 16 for word in words] != [_LDAH_GP, _LDA_GP]:
        return 0
    high, low = ((word & 0xFFFF ^ 0x8000) - 0x8000 for word in words)
    return entry + (high << 16) + low


def _resumes(image: Image) -> Iterator[tuple[int, int]]:
    """Linux' exception table: entries of a distance to the instruction that may fault, and the
    encoding of an LDA whose displacement is the distance from there to where control goes on
    (arch/alpha/include/asm/extable.h)."""
    section = next((s for s in image.sections if s.name == "__ex_table"), None)
    if section is None:
        return
    data = image.read(section.sh_addr, section.sh_size)
    for at in range(0, len(data), 8):
        distance = int.from_bytes(data[at : at + 4], "little", signed=True)
        onward = int.from_bytes(data[at + 4 : at + 6], "little", signed=True)
        fault = section.sh_addr + at + distance
        yield fault, fault + onward
