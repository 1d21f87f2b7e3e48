"""What two boots of Linux kernels that do the same may print differently, and nothing else.

Rules of one architecture are in its target.  Whole lines match, and only what stands in a group
is left out of the comparison, so a line that was never seen to vary is compared as it is.
"""

from __future__ import annotations

from rewriter.core.boots import Place, Volatile

POWERED_OFF = "reboot: Power down"
PANIC = "Kernel panic - not syncing"

WAITING = frozenset(
    {"__delay", "arch_cpu_idle", "cpu_idle_poll", "default_idle_call", "ndelay", "udelay"}
)
"""Functions of Linux that only wait: what they execute depends on time, not on the code's quality.

gcc's suffixes (`.isra.0`) do not count.
"""

LINUX = (
    Volatile(
        "speed",
        r"Calibrating delay loop\.\.\. ([\d.]+) BogoMIPS \(lpj=(\d+)\)",
        "measured by the kernel",
    ),
    Volatile(
        "memory",
        r"Memory: (\d+)K/\d+K available \((\d+)K kernel code, (\d+)K rwdata, (\d+)K rodata,"
        r" (\d+)K init, (\d+)K bss, (\d+)K reserved, 0K cma-reserved\)",
        "sizes of the kernel's parts, which added code changes",
    ),
    Volatile(
        "freed memory",
        r"Freeing unused kernel image \(\w+\) memory: (\d+)K",
        "size of the part that is used only at start",
    ),
    Volatile(
        "clock set",
        r"[-\w ]+: setting system clock to ([-\d]+T[\d:]+) UTC \((\d+)\)",
        "seconds that the boot took so far",
    ),
    Volatile(
        "initial file system",
        r"Unpacking initramfs\.\.\.|Freeing initrd memory: \d+K",
        "unpacked beside the rest of the boot",
        Place.ANYWHERE,
    ),
    Volatile(
        "input device",
        r"input: .+ as /devices/\S+",
        "found beside the rest of the boot",
        Place.ANYWHERE,
    ),
    Volatile(
        "floppy drive",
        r"Floppy drive\(s\): .+|FDC \d+ is .+",
        "found beside the rest of the boot",
        Place.ANYWHERE,
    ),
    Volatile(
        "random numbers",
        r"random: crng init done",
        "when enough has happened by chance",
        Place.MAYBE,
    ),
    Volatile(
        "jitter",
        r"jitterentropy: Initialization failed with host not compliant with requirements: (\d+)",
        "a test of how irregular the clock is",
        Place.MAYBE,
    ),
)
