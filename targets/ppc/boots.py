"""Linux kernels for PowerPC under qemu: a PowerMac of 32 bits, and an LPAR of 64.

Source: Debian 12's qemu 7.2 and OpenBIOS; Linux 6.1 arch/powerpc/include/asm/task_size_32.h,
task_size_64.h, drivers/tty/serial/pmac_zilog.c and 8250/8250_core.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.boots import Boots, Place, Volatile

_VOLATILE_32 = (
    Volatile(
        "firmware",
        r">> \[ppc\] Kernel already loaded .+|  alloc_bottom : [0-9a-f]{8}"
        r"|Device tree (?:strings|struct ) 0x[0-9a-f]{8} -> 0x[0-9a-f]{8}",
        "where the kernel, its files and the firmware's tables lie",
    ),
    Volatile(
        "clock set",
        r"GMT Delta read from XPRAM: .+",
        "read from a device beside the rest of the boot",
        Place.ANYWHERE,
    ),
)

_MAC = Boots(
    emulator="qemu-system-ppc",
    package="qemu-system-ppc",
    machine="g3beige",
    machines=MappingProxyType({"7400": "mac99", "7450": "mac99"}),
    # Without a display OpenBIOS has no console but a serial line, and must be told so.  A drive
    # would answer when the host has time for it, and no two boots would be the same.
    options=("-nodefaults", "-machine", "graphics=off", "-vga", "none"),
    # The driver for PCs' serial lines would take the numbers of the PowerMac's.
    parameters="console=ttyS0 8250.nr_uarts=0 norandmaps panic=-1",
    cpus=MappingProxyType({name: name for name in ("750", "7400", "7450")}),
    packaged=frozenset({"750", "7400", "7450"}),
    memory=512,
    # The least that a program's addresses are (ELF_ET_DYN_BASE) is above; what runs below are parts
    # of the kernel, in arch/powerpc, that run before addresses are translated.
    user_start=0x100000,
    low="kernel",
    user_end=0xB0000000,  # TASK_SIZE
    high=0xFFF00000,  # OpenBIOS
    volatile=_VOLATILE_32,
)

_LPAR = Boots(
    emulator="qemu-system-ppc64",
    package="qemu-system-ppc",
    # Features of the hypervisor that the emulator would say it has not.
    machine="pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off",
    options=("-nodefaults", "-vga", "none"),
    parameters="console=hvc0 printk.time=0 norandmaps panic=-1",
    cpus=MappingProxyType({name: name for name in ("power8", "power9", "power10")}),
    packaged=frozenset({"power8", "power9", "power10"}),
    memory=1024,
    user_start=0x10000000,  # below is the firmware, SLOF, and what runs before the kernel moves
    low="firmware",
    user_end=1 << 52,  # TASK_SIZE_4PB
    volatile=(),
)

BOOTS: Mapping[tuple[int, ByteOrder], Boots] = MappingProxyType(
    {(32, "big"): _MAC, (64, "little"): _LPAR}
)
"""By width and byte order."""
