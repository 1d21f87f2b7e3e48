"""Which contract a symbol's name speaks of."""

from __future__ import annotations

import re
from collections.abc import Collection

_ALIASES = {
    "index": "strchr",
    "rindex": "strrchr",
    # Where long has 32 bits this is ffs, and the contract will say so.
    "ffsl": "ffsll",
    # Linux' long numbers are those of GNU MP.
    "mpihelp_mul_1": "mpn_mul_1",
    "mpihelp_addmul_1": "mpn_addmul_1",
    "mpihelp_submul_1": "mpn_submul_1",
    "mpihelp_add_n": "mpn_add_n",
    "mpihelp_sub_n": "mpn_sub_n",
}
_PREFIXES = ("__GI_", "__libc_")
"""glibc: names that calls inside the library use, names that cannot be interposed."""

_VARIANT = re.compile(r"_(ppc|a2|cell|970|power\d+\w*)$")
"""glibc for PowerPC: what a resolver picks for a CPU is the same routine."""


def contract_of(symbol: str, contracts: Collection[str]) -> str | None:
    """The contract that a symbol is named after, whatever decorates it; None if there is none."""
    name = symbol.partition("@")[0]
    if name in contracts:
        return name
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    bare = _VARIANT.sub("", name.lstrip("_"))
    bare = _ALIASES.get(bare, bare)
    return next((contract for contract in sorted(contracts) if contract.lstrip("_") == bare), None)
