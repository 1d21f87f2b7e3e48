"""How programs are run: an emulator of Linux programs for each width and byte order."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.emulation import Emulated

_CPUS_32 = ("603e", "750", "7400", "7450")
_CPUS_64 = ("970", "power7", "power8", "power9", "power10")


def _emulated(arch: str, cpus: tuple[str, ...], folder: str, libraries: str) -> Emulated:
    """Names of CPUs are the emulator's; the last one has every instruction."""
    return Emulated(
        emulator=f"qemu-{arch}",
        package="qemu-user",
        cpus=MappingProxyType({name: name for name in cpus}),
        cpu=cpus[-1],
        sysroot=f"/usr/{folder}-linux-gnu",
        libraries=libraries,
    )


EMULATED: Mapping[tuple[int, ByteOrder], Emulated] = MappingProxyType(
    {
        (32, "big"): _emulated("ppc", _CPUS_32, "powerpc", "libc6-powerpc-cross"),
        (64, "big"): _emulated("ppc64", _CPUS_64, "powerpc64", "libc6-ppc64-cross"),
        (64, "little"): _emulated("ppc64le", _CPUS_64[2:], "powerpc64le", "libc6-ppc64el-cross"),
    }
)
"""By width and byte order."""
