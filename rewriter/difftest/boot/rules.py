"""What two boots of Linux kernels that do the same may print differently, and nothing else.

Rules of one architecture are in its target.  Whole lines match, and only what stands in a group
is left out of the comparison, so a line that was never seen to vary is compared as it is.
"""

from __future__ import annotations

from rewriter.core.target.boots import Place, Volatile

POWERED_OFF = "reboot: Power down"
PANIC = "Kernel panic - not syncing"

_IDLE = ("__delay", "arch_cpu_idle", "cpu_idle_poll", "default_idle_call", "ndelay", "udelay")
_IDLE_PPC = (
    *("ppc6xx_idle", "power_save_ppc32_restore"),
    *("dedicated_cede_loop", "pseries_lpar_idle", "shared_cede_loop", "snooze_loop"),
)
_JITTER = (
    *("crypto_sha3_final", "crypto_sha3_update", "jent_apt_insert", "jent_condition_data"),
    *("jent_delta", "jent_entropy_init", "jent_gen_entropy", "jent_get_nstime", "jent_hash_time"),
    *("jent_lfsr_time", "jent_loop_shuffle", "jent_measure_jitter", "jent_memaccess"),
    *("jent_rct_insert", "jent_stuck", "keccakf_round"),
)
WAITING = frozenset((*_IDLE, *_IDLE_PPC, *_JITTER))
"""Functions of Linux whose number of instructions depends on time, not on the code's quality.

They wait, or collect entropy from the clock: how often the collector repeats its work (SHA-3 for
it alone, in a boot) hangs on how the clock happens to vary.  gcc's suffixes (`.isra.0`) do not
count.
"""

LINUX = (
    Volatile(
        "speed",
        r"Calibrating delay loop\.\.\. ([\d.]+) BogoMIPS \(lpj=(\d+)\)",
        "measured by the kernel",
    ),
    Volatile(
        "clock",
        r"clocksource: timebase(?: mult\[([\da-f]+)\] shift\[\d+\] registered"
        r"|: mask: 0xffffffffffffffff max_cycles: 0x([\da-f]+), max_idle_ns: (\d+) ns)",
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
