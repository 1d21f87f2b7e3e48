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
_TESTING = frozenset((8, 0, 10, 2, 12, 4))
"""Those that ask for a bit, which is then named."""
_BRANCH = re.compile(
    rf"b(?:(?P<condition>{'|'.join(_CONDITIONS)})|(?P<count>{'|'.join(filter(None, _COUNTS))}))?"
    r"(?P<to>lr|ctr)?(?P<link>l?)"
)


def _word(bits: int, name: str, shift: Callable[[int], str]) -> Callable[..., str]:
    """A rotate with mask of 32 or 64 bits, its last operands made of a number."""

    def text(to: str, source: str, number: str) -> str:
        if not 0 <= int(number) < bits:
            raise ValueError(f"{number} is no place in {bits} bits")
        return f"{name} {to},{source},{shift(int(number))}"

    return text


def _compare(name: str, wide: int) -> Callable[..., str]:
    """A comparison, of field 0 where none is named."""

    def text(first: str, second: str, third: str = "") -> str:
        parts = (first, second, third) if third else ("cr0", first, second)
        return f"{name} {parts[0]},{wide},{parts[1]},{parts[2]}"

    return text


def _high(to: str, number: str) -> str:
    """A number, signed or not, in the upper half."""
    if not -0x8000 <= int(number) < 0x10000:
        raise ValueError(f"{number} does not fit 16 bits")
    return f"addis {to},0,{(int(number) + 0x8000) % 0x10000 - 0x8000}"


_EXTENDED: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "nop": lambda: "ori r0,r0,0",
        "li": lambda to, number: f"addi {to},0,{number}",
        "lis": _high,
        "sub": lambda to, one, other: f"subf {to},{other},{one}",
        "mr": lambda to, source: f"or {to},{source},{source}",
        "mr.": lambda to, source: f"or. {to},{source},{source}",
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
        "mtlr": lambda source: f"mtspr 8,{source}",
        "mflr": lambda to: f"mfspr {to},8",
        "mtctr": lambda source: f"mtspr 9,{source}",
        "mfctr": lambda to: f"mfspr {to},9",
        "dcbt": lambda base, index, hint="0": f"dcbt {base},{index},{hint}",
        "sc": lambda: "sc 0",
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
    if make is None:
        return f"{mnemonic} {operands}".rstrip()
    try:
        return make(*parts)
    except TypeError:
        raise ValueError(f"{mnemonic} has another number of operands") from None


def takes_label(mnemonic: str) -> bool:
    """Whether a mnemonic is that of a branch to a label; ValueError for a prediction hint.

    Processors before POWER4 read the hint's bits in another way than those after.
    """
    plain = mnemonic.rstrip("+-")
    branch = _BRANCH.fullmatch(plain)
    found = plain in ("bc", "bcl") or (branch is not None and not branch["to"])
    if found and plain != mnemonic:
        raise ValueError("a hint means different things to different processors: leave it out")
    return found


def reach(mnemonic: str) -> int:
    """Bytes that a branch to a label spans either way (Power ISA 2.4: I-form, B-form)."""
    return 1 << 25 if mnemonic in ("b", "bl") else 1 << 15


def _branch(form: re.Match[str], parts: _Operands) -> str:
    """A conditional branch: to a target, which is the last operand, or to LR or CTR."""
    name = {"lr": "bclr", "ctr": "bcctr", None: "bc"}[form["to"]] + form["link"]
    *given, target = (*parts, "0") if form["to"] else parts or ("",)
    if form["condition"]:
        option, bit = _CONDITIONS[form["condition"]]
        field = given.pop() if given else "cr0"
        bit = bit if field == "cr0" else f"4*{field}+{bit}"
    else:
        option, bit = _COUNTS[form["count"] or ""], "lt"
        if option in _TESTING:
            bit = given.pop() if given else ""
    if given or not target or not bit:
        raise ValueError(f"b{form[0][1:]} has another number of operands")
    return f"{name} {option},{bit},{target}"
