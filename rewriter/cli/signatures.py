"""`retune signatures`: databases of known routines."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.api import files
from rewriter.cli import show
from rewriter.cli.options import PATH, View, viewing
from rewriter.core.errors import BadInput, NothingToDo


@click.group()
def signatures() -> None:
    """Make databases of known routines.

    A signature says how long a routine is and what its instructions hash to, without what
    its place and the linker put into them: no code. `retune identify --known` finds routines
    by the signatures that come with retune, and by yours with --database.

    \b
    Examples:
      retune signatures make libc.a -o libc.json
      retune signatures make --json *.deb -o all.json | jq '.files'

    Exit status: 0 done, 2 bad usage, 3 bad input, 4 no routine that retune knows.
    """


@signatures.command()
@click.argument("sources", metavar="FILE...", type=PATH, nargs=-1, required=True)
@click.option("-o", "--output", metavar="DB", type=PATH, required=True, help="What to write.")
@click.option("--note", metavar="TEXT", default="", help="Kept with each FILE: how it was built.")
@viewing
def make(sources: tuple[Path, ...], output: Path, note: str, view: View) -> None:
    """Make a database from builds whose symbols are there.

    FILE is an ELF executable, a library, an object, an archive (.a), or a Debian package. Functions
    named after a routine of which retune has a contract give signatures; -v lists those that
    gave none with the reason, -vv the signatures. For IA-64 only linked files give any.

    \b
    Examples:
      retune signatures make /usr/alpha-linux-gnu/lib/libc.a -o libc.json
      retune signatures make string/*.o -o mine.json --note "gcc 12 -O3 -mcpu=ev56"
      retune identify --known --database mine.json a.out

    Exit status: 0 done, 2 bad usage, 3 bad input, 4 no routine that retune knows.
    """
    import targets
    from rewriter.contracts import CONTRACTS
    from rewriter.elf.archive.text import first_ident
    from rewriter.identify.compiler import compile_file
    from rewriter.identify.signatures import Database
    from rewriter.report.known import Made

    for source in sources:
        files.check_output(source, output)
    contents = {str(source): files.read(source) for source in sources}
    first = str(sources[0])
    kinds = {
        name: targets.of_ident(first_ident(data, name), name) for name, data in contents.items()
    }
    target = kinds[first]
    for name, kind in kinds.items():
        if kind.name != target.name:
            raise BadInput(f"{name}: for {kind.name}, where {first} is for {target.name}")
    compiled = [
        compile_file(data, name, kinds[name], CONTRACTS, note) for name, data in contents.items()
    ]
    made = Made(Database.of(target.name, (s for c in compiled for s in c.signatures)), compiled)
    if made.return_code == NothingToDo.exit_code:
        raise NothingToDo(f"{first}: no function is named after a routine that retune knows")
    files.write_beside(output, made.database.text().encode(), sources[0])
    show.result(made, view)
