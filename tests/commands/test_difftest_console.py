"""What of two consoles is compared: the rules of volatile lines, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import targets
from rewriter.core.target.boots import Place
from rewriter.difftest.boot import compare as difftest
from rewriter.difftest.boot import console

RULES = difftest.rules(targets.named("alpha").boots)

# For each rule lines that it matches, as they are compared, and lines that it must not match.
LINES = {
    "board cache": (
        {
            "2048K Bcache detected; load hit latency 1 cycles, load miss latency 17 cycles": (
                "*K Bcache detected; load hit latency * cycles, load miss latency * cycles"
            )
        },
        ["No Bcache detected", "2048K Bcache detected; load hit latency 1 cycles"],
    ),
    "machine check": (
        {
            "TSUNAMI machine check: vector=0x0 pc=0xfffffc0000323124 code=0x0": (
                "TSUNAMI machine check: vector=0x0 pc=0x* code=0x0"
            )
        },
        ["TSUNAMI machine check: vector=0x660 pc=0xfffffc0000323124 code=0x201"],
    ),
    "program counters": (
        {
            "pc = [<fffffc0000323124>]  ra = [<fffffc0000318c3c>]  ps = 0000    Not tainted": (
                "pc = [<*>]  ra = [<*>]  ps = 0000    Not tainted"
            )
        },
        ["pc = [<fffffc0000323124>]  ra = [<fffffc0000318c3c>]  ps = 0000    Tainted: G      D"],
    ),
    "place in a function": (
        {
            "pc is at tsunami_readw+0x4/0x10": "pc is at tsunami_readw+0x*/0x*",
            "ra is at __raw_readw+0x1c/0x30": "ra is at __raw_readw+0x*/0x*",
        },
        ["pc is at 0xdeadbeef", "Trace: do_page_fault+0x4/0x10"],
    ),
    "registers": (
        {
            "t8 = fffffc0000c91840  t9 = fffffc0000c91842  t10= 0000000000000060": (
                "t8 = *  t9 = *  t10= *"
            ),
            "t11= 0000000000000320  pv = fffffc0000323120  at = 0000000000000001": (
                "t11= *  pv = *  at = *"
            ),
            "gp = fffffc0000c7f238  sp = (____ptrval____)": "gp = *  sp = (____ptrval____)",
        },
        ["t8 = 1  t9 = 2  t10= 3", "read small       3ad87b49f456a025"],
    ),
    "speed": (
        {
            "Calibrating delay loop... 482.80 BogoMIPS (lpj=235520)": (
                "Calibrating delay loop... * BogoMIPS (lpj=*)"
            )
        },
        ["Calibrating delay loop... failed", "BogoMIPS : 482.80"],
    ),
    "clock": (
        {
            "clocksource: timebase mult[3c3d0956] shift[24] registered": (
                "clocksource: timebase mult[*] shift[24] registered"
            ),
            "clocksource: timebase: mask: 0xffffffffffffffff max_cycles: 0x3d42116f5, "
            "max_idle_ns: 440795202157 ns": (
                "clocksource: timebase: mask: 0xffffffffffffffff max_cycles: 0x*, max_idle_ns: * ns"
            ),
        },
        ["clocksource: timebase mult[0] shift[x] registered", "clocksource: jiffies: mask: 0xff"],
    ),
    "memory": (
        {
            "Memory: 249568K/262144K available (7058K kernel code, 418K rwdata, 1972K rodata, "
            "280K init, 163K bss, 12576K reserved, 0K cma-reserved)": (
                "Memory: *K/262144K available (*K kernel code, *K rwdata, *K rodata, *K init, "
                "*K bss, *K reserved, 0K cma-reserved)"
            )
        },
        ["Memory: 249568K/262144K available", "Memory: none"],
    ),
    "freed memory": (
        {
            "Freeing unused kernel image (initmem) memory: 280K": (
                "Freeing unused kernel image (initmem) memory: *K"
            )
        },
        ["Freeing unused memory: 280K", "Not freeing unused kernel image (initmem) memory: 280K"],
    ),
    "clock set": (
        {
            "platform rtc-alpha: setting system clock to 2006-11-21T14:50:33 UTC (1164120633)": (
                "platform rtc-alpha: setting system clock to * UTC (*)"
            )
        },
        ["platform rtc-alpha: hctosys: unable to read the hardware clock"],
    ),
    "initial file system": (
        {
            "Unpacking initramfs...": "Unpacking initramfs...",
            "Freeing initrd memory: 2336K": "Freeing initrd memory: 2336K",
        },
        ["Initramfs unpacking failed: junk within compressed archive"],
    ),
    "input device": (
        {
            "input: AT Keyboard as /devices/serio0/input/input0": (
                "input: AT Keyboard as /devices/serio0/input/input0"
            )
        },
        ["input: no device", "init: input: AT as /devices/x"],
    ),
    "floppy drive": (
        {
            "Floppy drive(s): fd0 is 2.88M": "Floppy drive(s): fd0 is 2.88M",
            "FDC 0 is a S82078B": "FDC 0 is a S82078B",
        },
        ["floppy0: no floppy controllers found"],
    ),
    "random numbers": (
        {"random: crng init done": "random: crng init done"},
        ["random: init: uninitialized urandom read"],
    ),
    "jitter": (
        {
            "jitterentropy: Initialization failed with host not compliant with requirements: 9": (
                "jitterentropy: Initialization failed with host not compliant with requirements: *"
            )
        },
        ["jitterentropy: Initialization failed"],
    ),
}
ORDINARY = [
    "init: started",
    "read small       3ad87b49f456a025",
    "Linux version 6.1.192 (root@vm) #1",
    "PCI: CLS 0 bytes, default 64",
    "init: 0 wrong",
]


def read(lines: list[str]) -> console.Console:
    return console.read("\r\n".join([*lines, ""]), RULES)


def test_every_rule_has_examples() -> None:
    assert list(LINES) == [rule.name for rule in RULES]


@pytest.mark.parametrize("name", LINES)
def test_a_rule_matches_what_it_must_and_no_more(name: str) -> None:
    matched, others = LINES[name]
    place = next(rule.place for rule in RULES if rule.name == name)
    for line, masked in matched.items():
        found = read([line])
        assert found.used == {name: 1}
        assert found.ordered == ((masked,) if place is Place.HERE else ())
        assert dict(found.unordered) == ({masked: 1} if place is Place.ANYWHERE else {})
    for line in others:
        assert read([line]).ordered == (line,), line


@given(st.permutations(ORDINARY), st.data())
def test_any_change_of_an_ordinary_line_is_seen(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    changed = data.draw(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1))
    for other in (lines[:at] + lines[at + 1 :], [*lines[:at], lines[at], *lines[at:]]):
        assert console.difference(read(lines), read(other))
    other = [*lines[:at], lines[at] + changed, *lines[at + 1 :]]
    shown = console.difference(read(lines), read(other))
    assert f"-{lines[at]}" in shown
    assert f"+{lines[at]}{changed}" in shown


@given(st.permutations([*ORDINARY, "Unpacking initramfs...", "FDC 0 is a S82078B"]))
def test_only_lines_of_their_own_time_may_change_places(lines: list[str]) -> None:
    first = [*ORDINARY, "Unpacking initramfs...", "FDC 0 is a S82078B"]
    moved = [line for line in lines if line in ORDINARY]
    assert (console.difference(read(first), read(lines)) == ()) == (moved == ORDINARY)


def test_a_line_of_its_own_time_must_be_there() -> None:
    with_it, without = [*ORDINARY, "FDC 0 is a S82078B"], ORDINARY
    assert console.difference(read(with_it), read(without)) == ("-FDC 0 is a S82078B",)
    assert console.difference(read(without), read(with_it)) == ("+FDC 0 is a S82078B",)
    assert not console.difference(read([*ORDINARY, "random: crng init done"]), read(without))
