"""Contracts of known routines, by name: what each must do, and cases to try it on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.contracts import (
    bits,
    checksum,
    compare,
    copy,
    divide,
    fill,
    pages,
    search,
    strings,
    user,
    wide,
)
from rewriter.contracts.contract import Contract

_FAMILIES = (copy, fill, compare, search, strings, bits, divide, wide, pages, user, checksum)

CONTRACTS: Mapping[str, Contract] = MappingProxyType(
    {contract.name: contract for family in _FAMILIES for contract in family.CONTRACTS}
)

__all__ = ["CONTRACTS", "Contract"]
