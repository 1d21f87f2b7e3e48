"""Routines of the real libc for Alpha."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fixtures import inputs
from fixtures.local import LOCAL
from rewriter.elf.image import Image, load
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_of, function_named
from targets.alpha import Alpha

# Contract -> symbol of libc.so.6.1, where they differ.
SYMBOLS = {
    **{name: f"__{name}" for name in ("mempcpy", "stpcpy")},
    **{f"{op}{size}": f"__{op}{size}" for op in ("div", "rem") for size in ("l", "lu", "q", "qu")},
}
LIBC_BASE = 0x300000000
GP = 0x209688  # what every function of that libc makes $29

Libc = Callable[[str], Code | None]


@cache
def _image() -> Image:
    return load(inputs.require("alpha-libc"))


def libc_code(contract: str) -> Code | None:
    """The libc's routine for a contract; None if it has none."""
    found = function_named(_image(), SYMBOLS.get(contract, contract))
    address = LOCAL.get(contract) if found is None else found[0]
    if address is None:
        return None
    return code_of(_image(), f"libc {contract}", address, LIBC_BASE, Alpha().relocated, GP)
