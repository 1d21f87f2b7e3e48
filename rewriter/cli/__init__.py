"""The `retune` command: a thin layer of Click over library functions.

Nothing here imports NumPy, LIEF, Z3, Rich or a target before a command's body runs, so that
`retune --help` answers at once.

batch       `retune batch`
bench       `retune bench`: modelled cycles of known routines or of one path, before and after
check       `retune verify` and `retune revert`
group       The group of all commands: how every one of them ends
kit         `retune kit`: a folder that tries and times two libraries on a machine without retune
look        `retune identify`, `explain`, `edits`, `cpus`: nothing here writes a file
options     Options that several commands share, each declared once
patch       `retune patch`
report      `retune report`
show        Results on stdout, progress on stderr: for people on a terminal, for programs elsewhere
signatures  `retune signatures`: databases of known routines
install/    How retune is built and installed: pages and compiled modules as files of a wheel
pages/      What the command says of itself: its versions, its manual pages, and completion in a
            shell
running/    Commands that run the original and the retuned file
"""

from __future__ import annotations

import click

from rewriter.cli.batch import batch
from rewriter.cli.bench import bench
from rewriter.cli.check import revert, verify
from rewriter.cli.group import Retune
from rewriter.cli.kit import kit
from rewriter.cli.look import cpus, edits, explain, identify
from rewriter.cli.pages.completion import completion
from rewriter.cli.pages.manual import manual
from rewriter.cli.pages.versions import VERSION
from rewriter.cli.patch import patch
from rewriter.cli.report import report
from rewriter.cli.running.bisect import bisect
from rewriter.cli.running.difftest import difftest
from rewriter.cli.running.profile import profile
from rewriter.cli.signatures import signatures


@click.group(cls=Retune, context_settings={"help_option_names": ["-h", "--help"]})
@VERSION
def main() -> None:
    """Retune an existing ELF executable to the CPU that runs it, without its source.

    Every edit is proved before it is written, listed in the output, and can be taken
    back.

    \b
    Examples:
      retune patch libc.so.6.1 -o tuned/libc.so.6.1 --cpu ev67
      retune verify libc.so.6.1 tuned/libc.so.6.1
      retune explain libc.so.6.1 memchr --cpu ev67
      retune edits tuned/libc.so.6.1
      retune revert tuned/libc.so.6.1 -o libc.again

    \b
    Exit status:
      0  done
      1  verification failed; nothing was written
      2  bad usage: an option or argument that retune cannot follow
      3  bad input: not ELF, truncated, damaged, or for another architecture
      4  nothing to do: no edit was chosen; the output is an identical copy
      70 an error in retune itself; RETUNE_TRACEBACK=1 shows where
      71 the system does not give what is needed: memory, room for what is printed
      130, 143, 129 ended by an interrupt (Ctrl-C, SIGTERM, SIGHUP)
    """


for _command in (
    patch, batch, identify, explain, verify, revert, cpus, edits, report, signatures, bench,
    difftest, profile, bisect, kit, manual, completion,
):  # fmt: skip
    main.add_command(_command)
