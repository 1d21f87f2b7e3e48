"""What the benches say a command costs: the command's own, whatever measures it."""

import sys

from benchmarks.spending import spend

LARGE = 200_000_000  # bytes


def test_memory_is_the_commands_and_not_that_of_what_measures() -> None:
    held = bytearray(b"\1") * LARGE
    assert 0 < spend((sys.executable, "-c", "import time; time.sleep(.4)")).peak < LARGE / 4
    takes = f"import time; held = bytearray(b'1') * {LARGE}; time.sleep(.4)"
    assert LARGE < spend((sys.executable, "-c", takes)).peak < 2 * LARGE
    assert len(held) == LARGE
