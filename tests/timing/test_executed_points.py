"""What is executed of the article's points, on a program whose counts follow from its text."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.gorton import WORD, Executed, Points, text
from fixtures import inputs
from fixtures.programs import plugin_path
from rewriter.elf.image import load

# Ten passes: the first branch of the block at `loop` is not taken, the second one is, to an
# instruction that begins no block.
PROGRAM = """
        .set noat
        .globl _start
        .align 4
_start: lda     $1,10($31)
        lda     $2,0($31)
        extbl   $2,0,$2
        cmoveq  $1,$2,$3
loop:   beq     $1,out
        subq    $1,1,$1
        br      $31,middle
        bis     $31,$31,$31
        bis     $31,$31,$31
middle: br      $31,loop
out:    lda     $16,0($31)
        lda     $0,1($31)
        call_pal 0x83
"""


def test_counts_are_those_of_the_text(tmp_path: Path) -> None:
    """Entered once from the system; the way out begins no block either."""
    compiler, emulator = map(inputs.require_tool, ("alpha-linux-gnu-gcc", "qemu-alpha"))
    inputs.require_tool("cc")
    program, out = tmp_path / "program", tmp_path / "counts"
    (tmp_path / "program.s").write_text(PROGRAM)
    built = (compiler, "-nostdlib", "-static", str(tmp_path / "program.s"), "-o", str(program))
    subprocess.run(built, check=True, capture_output=True)
    image = load(program)
    ((low, high),) = image.executable_ranges()
    told = f"{plugin_path('transfers')},out={out},text={low:#x}-{high:#x}"
    subprocess.run((emulator, "-plugin", told, str(program)), check=True, timeout=60)
    words = (high - low) // WORD
    points = text(image, low, words).points(Executed.parse(out.read_bytes(), words))
    passes = 10
    assert points == Points(
        instructions=4 + 4 * passes + 1 + 3,
        transfers=1 + 2 * passes + 1,
        off_block=passes + 1,
        second=passes,
        moves=1,
        narrow=1,
        unasked=0,
    )
