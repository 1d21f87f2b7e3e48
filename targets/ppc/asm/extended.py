"""Extended mnemonics: what stands for an instruction of the table, with its operands in full.

Power ISA 3.1B, Book I, appendix C; as far as our routines use them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

_Operands = tuple[str, ...]

_CONDITIONS = {
    "eq": (12, "eq"), "ne": (4, "eq"), "lt": (12, "lt"), "ge": (4, "lt"), "nl": (4, "lt"),
    "gt": (12, "gt"), "le": (4, "gt"), "ng": (4, "gt"), "so": (12, "so"), "ns": (4, "so"),
}  # fmt: skip
"""BO and the bit of a field, by condition."""
_COUNTS = {"dnz": 16, "dz": 18, "dnzt": 8, "dnzf": 0, "dzt": 10, "dzf": 2, "t": 12, "f": 4, "": 20}
"""BO, by what is done with CTR and whether a bit of the condition register must be set."""
_BRANCH = re.compile(
    rf"b(?:(?P<condition>{'|'.join(_CONDITIONS)})|(?P<count>{'|'.join(filter(None, _COUNTS))}))?"
    r"(?P<to>lr|ctr)?(?P<link>l?)"
)


def _word(bits: int, name: str, shift: Callable[[int], str]) -> Callable[[_Operands], str]:
    """A rotate with mask of 32 or 64 bits, its last operands made of a number."""
    return lambda o: f"{name} {o[0]},{o[1]},{shift(int(o[2]) % bits)}"


def _compare(name: str, wide: int) -> Callable[[_Operands], str]:
    """A comparison, of field 0 where none is named."""

    def text(o: _Operands) -> str:
        field, *rest = o if len(o) == 3 else ("cr0", *o)
        return f"{name} {field},{wide},{','.join(rest)}"

    return text


_EXTENDED: Mapping[str, Callable[[_Operands], str]] = MappingProxyType(
    {
        "nop": lambda o: "ori r0,r0,0",
        "li": lambda o: f"addi {o[0]},0,{o[1]}",
        "lis": lambda o: f"addis {o[0]},0,{(int(o[1]) + 0x8000) % 0x10000 - 0x8000}",
        "sub": lambda o: f"subf {o[0]},{o[2]},{o[1]}",
        "mr": lambda o: f"or {o[0]},{o[1]},{o[1]}",
        "mr.": lambda o: f"or. {o[0]},{o[1]},{o[1]}",
        **{
            f"{name}{dot}": make
            for dot in ("", ".")
            for name, make in {
                "slwi": _word(32, f"rlwinm{dot}", lambda n: f"{n},0,{31 - n}"),
                "srwi": _word(32, f"rlwinm{dot}", lambda n: f"{-n % 32},{n},31"),
                "rotlwi": _word(32, f"rlwinm{dot}", lambda n: f"{n},0,31"),
                "clrlwi": _word(32, f"rlwinm{dot}", lambda n: f"0,{n},31"),
                "clrrwi": _word(32, f"rlwinm{dot}", lambda n: f"0,0,{31 - n}"),
                "sldi": _word(64, f"rldicr{dot}", lambda n: f"{n},{63 - n}"),
                "srdi": _word(64, f"rldicl{dot}", lambda n: f"{-n % 64},{n}"),
                "rotldi": _word(64, f"rldicl{dot}", lambda n: f"{n},0"),
                "clrldi": _word(64, f"rldicl{dot}", lambda n: f"0,{n}"),
                "clrrdi": _word(64, f"rldicr{dot}", lambda n: f"0,{63 - n}"),
            }.items()
        },
        **{
            f"{name}{size}{kind}": _compare(f"{name}{kind}", wide)
            for name in ("cmp", "cmpl")
            for size, wide in (("w", 0), ("d", 1))
            for kind in ("", "i")
        },
        "mtlr": lambda o: f"mtspr 8,{o[0]}",
        "mflr": lambda o: f"mfspr {o[0]},8",
        "mtctr": lambda o: f"mtspr 9,{o[0]}",
        "mfctr": lambda o: f"mfspr {o[0]},9",
        "dcbt": lambda o: f"dcbt {','.join((*o, '0')[:3])}",
        "sc": lambda o: "sc 0",
    }
)


def raw(mnemonic: str, operands: str) -> str:
    """The instruction of the table, as its text; what is no extended mnemonic stays.

    Operands are names of registers and bits, and decimal numbers.  ValueError for operands that
    are none.
    """
    parts = tuple(operands.split(",")) if operands else ()
    branch = _BRANCH.fullmatch(mnemonic)
    if branch and (branch["to"] or branch["condition"] or branch["count"]):
        return _branch(branch, parts)
    make = _EXTENDED.get(mnemonic)
    try:
        return make(parts) if make else f"{mnemonic} {operands}".rstrip()
    except IndexError:
        raise ValueError(f"{mnemonic} has more operands") from None


def _branch(form: re.Match[str], parts: _Operands) -> str:
    """A conditional branch: to a target, which is the last operand, or to LR or CTR."""
    name = {"lr": "bclr", "ctr": "bcctr", None: "bc"}[form["to"]] + form["link"]
    *given, target = (*parts, "0") if form["to"] else parts
    if form["condition"]:
        option, bit = _CONDITIONS[form["condition"]]
        field = given[0] if given else "cr0"
        bit = bit if field == "cr0" else f"4*{field}+{bit}"
    else:
        option, bit = _COUNTS[form["count"] or ""], given[0] if given else "lt"
    return f"{name} {option},{bit},{target}"
