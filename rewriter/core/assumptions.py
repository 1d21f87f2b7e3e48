"""What a proof may rest on that no file shows: each by a name that `--assume` takes.

`docs/assumptions.md` says of each how it can be false in practice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ALIGNMENT = "alignment"
STANDARD = "standard"
LOADS = "loads"
TABLES = "tables"
RETURNS = "returns"
ARGUMENTS = "arguments"
LOCKS = "locks"
FILES = "files"
LINES = "lines"

SENTENCES: Mapping[str, str] = MappingProxyType({
    ALIGNMENT: "a word that the old code takes from one quadword is at an even address",
    STANDARD: "calls and returns pass values in the calling standard's registers alone",
    LOADS: "a load may go or come earlier, and of two of one place one may stand for the other",
    TABLES: "a jump whose table has no bound goes to what the function's tables and labels lead to",
    RETURNS: "no program compares return addresses with numbers of its own",
    ARGUMENTS: "arguments of a later call are set after the call of a replaced routine",
    LOCKS: "no other file's code holds a lock on a line that a hint asks for",
    LINES: "no other thread and no signal handler reads what a loop is just storing",
    FILES: "calls and returns between IA-64 files keep to the calling standard",
})  # fmt: skip
"""The assumptions that may be refused, each with what it says."""

EVERY = frozenset(SENTENCES)
