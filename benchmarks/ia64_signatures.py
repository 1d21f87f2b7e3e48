"""Signatures of IA-64 routines: made from the inputs with symbols, and what they find without.

    python benchmarks/ia64_signatures.py [--write]

With `--write` the database in `targets/ia64/` is made anew.  For each file, the routines that have
a name there and a function for themselves, how many of these are found when the symbols are not
looked at, and what else is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from fixtures import inputs
from rewriter.analysis.functions import find_functions
from rewriter.contracts import CONTRACTS
from rewriter.elf.image import load
from rewriter.identify.bundled_signatures import known
from rewriter.identify.compiler import compile_file
from rewriter.identify.signatures import Database
from rewriter.verify.routines.replaceable import symbols_of
from targets.ia64 import Ia64

SOURCES = {"ia64-libc": "ia64-libc-2.36.so", "ia64-vmlinux": "ia64-vmlinux-6.1-generic"}
_TARGET = Ia64()


def made() -> Database:
    """The database of all sources."""
    parts = []
    for name, called in SOURCES.items():
        path = inputs.find(name)
        made = compile_file(path.read_bytes(), called, _TARGET, CONTRACTS)
        parts.append(Database.of(_TARGET.name, made.signatures))
    return Database.merged(_TARGET.name, parts)


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    if "--write" in arguments:
        _TARGET.substituting.signatures.write_text(made().text(), encoding="utf-8")
    for name in (*SOURCES, "ia64-libsigar", "ia64-libjnidispatch"):
        image = load(inputs.find(name))
        starts = {f.start for f in find_functions(image, _TARGET.described(image))}
        named = {
            (one.address, contract)
            for one in symbols_of(image)
            if one.address in starts
            for contract in one.contracts
        }
        hidden = replace(image, symbols=())
        found = {(m.address, m.signature.routine) for m in known(hidden, _TARGET, CONTRACTS)}
        print(
            f"{name}: {len(named)} routines have a name, {len(found & named)} of them are found"
            f" without it, and {len(found - named)} others"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
