"""Contracts of known routines, by name: what each must do, and cases to try it on.

bits      ffs, ffsll: one more than the number of the lowest bit that is set, zero for zero
calls     How often a kernel calls its known routines, with which sizes: counted
checksum  csum_partial, csum_ipv6_magic: the Internet checksum (RFC 1071), bytes in memory order
compare   memcmp, strcmp, strncmp: results by sign only
contract  What a known routine must do: a reference model, how it is called, and cases to try it on
copy      memcpy, mempcpy, memmove, bcopy
divide    Division, which Alpha has no instruction for: routines with a linkage of their own
fill      memset, bzero
linkage   How a routine is called: which registers hold what, as a target says it
pages     clear_page, copy_page: whole aligned pages, of a size that is built into the kernel
place     Where the memory of a case lies, and what fills it
search    strlen, strnlen, strchr, strrchr, memchr, rawmemchr
strings   strcpy, stpcpy, strncpy, strcat, strncat
user      __copy_user, __clear_user: they may fault at any access, and say how much was not done
wide      udiv_qrnnd, mpn_mul_1, mpn_addmul_1, mpn_submul_1, mpn_add_n, mpn_sub_n: unsigned numbers
          wider than a register, as GNU MP defines what is done with them
"""

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
