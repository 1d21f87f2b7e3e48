"""Processor time of `patch` with compiled modules and with Python running all, alternating.

python benchmarks/compiled.py [NAME:CPU ...]   names of fixtures/inputs.py; default: two libcs
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fixtures import inputs
from rewriter.core.compiled import FINDER, PURE

DEFAULT = ("alpha-libc:ev67", "ppc64el-libc:power9")


def seconds(source: Path, output: Path, cpu: str, pure: str) -> float:
    """Processor time, of the system's too, of one process that patches a file."""
    command = (sys.executable, "-m", "rewriter", "patch", str(source), "-o", str(output))
    environment = {**os.environ, PURE: pure}
    number = os.posix_spawn(sys.executable, [*command, "--cpu", cpu, "-j1", "-q"], environment)
    _, status, used = os.wait4(number, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 4), "not patched"  # 4: nothing to do
    return used.ru_utime + used.ru_stime


def main(wanted: Sequence[str]) -> None:
    """Prints a row for each file; the outputs are compared."""
    print(f"modules: {FINDER.state}")
    print(f"{'file':28}{'interpreted':>12}{'compiled':>10}{'ratio':>7}")
    for one in wanted:
        name, _, cpu = one.partition(":")
        source = inputs.require(name)
        with tempfile.TemporaryDirectory() as folder:
            outputs = [Path(folder, "pure"), Path(folder, "compiled")]
            pure, compiled = (
                seconds(source, output, cpu, "1" if output.name == "pure" else "")
                for output in outputs
            )
            assert outputs[0].read_bytes() == outputs[1].read_bytes()
        ratio = f"{compiled / pure:.2f}"
        print(f"{name + ', ' + cpu:28}{pure:>10.1f} s{compiled:>8.1f} s{ratio:>7}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or DEFAULT)
