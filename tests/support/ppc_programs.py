"""Random programs of idioms for which later POWER chips have instructions.

A program is some functions of two numbers; each is a few statements, some of them under a test or
in a loop, that divide only by what a test has let through.  `main` calls every function with the
same numbers, of all sizes and from the edges, and prints what comes out.  What is drawn follows
from the seed and the program's number.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType

from fixtures.inputs import find, tool

NAMES = ("a", "b", "c", "d")
_TYPES = ("uint64_t", "int64_t", "uint32_t", "int32_t")

_HEAD = """#include <stdint.h>
#include <stdio.h>
typedef uint64_t word;
static uint64_t words[64];
static uint32_t halves[64];
static uint16_t shorts[64];
static int32_t ints[64];
"""
_MAIN = """
int main(void)
{
    static const word edges[] = {
        0, 1, 2, 3, 10, -1ull, -2ull, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32,
        0x7fffffffffffffffull, 0x8000000000000000ull, 0x8000000000000001ull, 0xff00ff00ff00ff00ull,
    };
    enum { EDGES = sizeof edges / sizeof *edges, MORE = 40 };
    for (unsigned f = 0; f < sizeof all / sizeof *all; f++) {
        word x = 88172645463325252ull, sum = 0;
        for (int i = 0; i < 64; i++) {
            x ^= x << 13; x ^= x >> 7; x ^= x << 17;
            words[i] = x >> (i & 31); halves[i] = x >> 29; shorts[i] = x >> 40; ints[i] = x >> 11;
        }
        for (int i = 0; i < EDGES * EDGES + MORE; i++) {
            x ^= x << 13; x ^= x >> 7; x ^= x << 17;
            word a = i < EDGES * EDGES ? edges[i / EDGES] : x >> (i & 63);
            word b = i < EDGES * EDGES ? edges[i % EDGES] : x * 0x9e3779b97f4a7c15ull >> 7 * i % 64;
            sum = sum * 31 + all[f](a, b);
        }
        for (int i = 0; i < 64; i++)
            sum = sum * 31 + (words[i] ^ halves[i] ^ shorts[i]) + ints[i];
        printf("%u %llx\\n", f, (unsigned long long)sum);
    }
    return 0;
}
"""

Draw = Callable[[Random], str]

LEVELS = ("-O1", "-O2", "-O3", "-Os")


@dataclass(frozen=True)
class Setting:
    """An ABI, the CPU for which gcc compiles, and that for which the program is retuned."""

    abi: str
    old: str
    cpu: str

    @property
    def prefix(self) -> str:
        """What the tools' names begin with."""
        return {"ppc": "powerpc", "ppc64": "powerpc64", "ppc64el": "powerpc64le"}[self.abi]

    @property
    def emulator(self) -> str:
        """The emulator's name."""
        return tool(f"qemu-{self.abi.replace('64el', '64le')}")


SETTINGS = (
    Setting("ppc", "750", "7450"),
    Setting("ppc64", "power8", "power9"),
    Setting("ppc64el", "power8", "power9"),
    Setting("ppc64el", "power8", "power10"),
)


@dataclass(frozen=True)
class Compared:
    """What each function of a program printed before and after, and the edits by pass."""

    before: list[str]
    after: list[str]
    edits: Counter[str]

    @property
    def different(self) -> list[int]:
        """The functions that print something else; all where one is missing."""
        if len(self.before) != len(self.after):
            return list(range(len(self.before)))
        both = zip(self.before, self.after, strict=True)
        return [number for number, (old, new) in enumerate(both) if old != new]


def built(setting: Setting, source: str, level: str, folder: Path) -> Path:
    """The program, compiled."""
    path = folder / "program"
    path.with_suffix(".c").write_text(source, encoding="ascii")
    options = (level, "-w", f"-mcpu={setting.old}", str(path.with_suffix(".c")), "-o", str(path))
    subprocess.run((tool(f"{setting.prefix}-linux-gnu-gcc"), *options), check=True)
    return path


def printed(setting: Setting, program: Path) -> list[str]:
    """What it prints, a line for each function; what came until a signal ended it."""
    root = find(f"{setting.abi}-libc").resolve().parents[1]
    command = (setting.emulator, "-cpu", setting.cpu, "-L", str(root), str(program))
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.splitlines()


def retuned(setting: Setting, program: Path, passes: str) -> tuple[Path, Counter[str]]:
    """The program retuned, and its edits by pass; the file of a program with none is as it was."""
    out = program.with_suffix(".new")
    retune = (sys.executable, "-m", "retune", "patch", str(program), "--cpu", setting.cpu)
    options = ("-o", str(out), "--passes", passes, "--json")
    done = subprocess.run((*retune, *options), stdout=subprocess.PIPE, check=False)
    if not out.is_file():
        return program, Counter()
    edits = json.loads(done.stdout)["edits"]
    return out, Counter(edit["id"].partition(":")[0] for edit in edits)


def compared(
    setting: Setting, source: str, level: str, folder: Path, passes: str = "all"
) -> Compared:
    """A program before and after."""
    program = built(setting, source, level, folder)
    new, edits = retuned(setting, program, passes)
    return Compared(printed(setting, program), printed(setting, new), edits)


def text(seed: str, number: int, functions: int, idioms: str = "all") -> str:
    """The program's source, of some of the `IDIOMS`."""
    draw = Random(f"{seed} {number}")
    made = [_function(draw, n, IDIOMS[idioms]) for n in range(functions)]
    table = ", ".join(f"f{n}" for n in range(functions))
    return "\n".join(
        (_HEAD, *made, f"static word (*const all[])(word, word) = {{{table}}};", _MAIN)
    )


def _function(draw: Random, number: int, idioms: Sequence[Draw]) -> str:
    lines = [
        f"__attribute__((noipa)) static word f{number}(word a, word b)",
        "{",
        "    word c = a ^ b, d = a + 3 * b;",
        *("    " + line for _ in range(draw.randint(2, 5)) for line in _statement(draw, 0, idioms)),
        "    return a ^ b * 3 ^ c * 5 ^ d * 7;",
        "}",
    ]
    return "\n".join(lines)


def _statement(draw: Random, depth: int, idioms: Sequence[Draw]) -> Iterator[str]:
    """A statement's lines: an idiom, perhaps under a test or in a loop."""
    kind = draw.randrange(6) if depth < 2 else 5
    if kind == 0:
        yield f"if ({_test(draw)}) {{"
        yield from ("    " + line for line in _statement(draw, depth + 1, idioms))
        yield "}"
    elif kind == 1:
        name = draw.choice("ijk") + str(depth)
        yield f"for (unsigned {name} = 0; {name} < {draw.randint(2, 9)}; {name}++) {{"
        yield from ("    " + line for line in _statement(draw, depth + 1, idioms))
        yield f"    {draw.choice(NAMES)} += {name};"
        yield "}"
    else:
        yield draw.choice(idioms)(draw)


def _name(draw: Random) -> str:
    return draw.choice(NAMES)


def _typed(draw: Random, kind: str) -> str:
    return f"({kind}){_name(draw)}"


def _test(draw: Random) -> str:
    kind, operator = draw.choice(_TYPES), draw.choice(("<", "<=", "==", "!=", ">", ">="))
    other = draw.choice((_typed(draw, kind), str(draw.choice((0, 1, 7, 1000)))))
    return f"{_typed(draw, kind)} {operator} {other}"


def _rest(draw: Random) -> str:
    kind, divisor, to = draw.choice(_TYPES), _name(draw), _name(draw)
    tests = ["{} > 0", "{} > 1", "{} > 0 && {} < 1000"]
    tests += ["{} != 0", "!({} == 0)"] if kind.startswith("u") else ["{} != 0 && {} != -1"]
    test = draw.choice(tests).replace("{}", f"({kind}){divisor}")
    return f"if ({test}) {to} += {_typed(draw, kind)} % ({kind}){divisor};"


def _euclid(draw: Random) -> str:
    kind, to = draw.choice(("uint64_t", "uint32_t")), _name(draw)
    x, y = _typed(draw, kind), _typed(draw, kind)
    return (
        f"{{ {kind} x = {x}, y = {y}; while (y) {{ {kind} r = x % y; x = y; y = r; }} {to} += x; }}"
    )


def _rests_of_one(draw: Random) -> str:
    kind, to = draw.choice(("uint64_t", "uint32_t")), _name(draw)
    return (
        f"{{ {kind} m = {_typed(draw, kind)}; if (m > {draw.randrange(3)})"
        f" for (int i = 0; i < 8; i++) {to} += ({kind})words[i] % m; }}"
    )


def _compared(draw: Random) -> str:
    to, operator = _name(draw), draw.choice(("+=", "-=", "^=", "="))
    sign = draw.choice(("", "-", "3 * ", "!"))
    return f"{to} {operator} {sign}(word)({_test(draw)});"


def _ordered(draw: Random) -> str:
    kind = draw.choice(_TYPES)
    x, y = _typed(draw, kind), _typed(draw, kind)
    way = draw.choice((f"({x} > {y}) - ({x} < {y})", f"({x} < {y} ? -1 : {x} > {y})"))
    return f"{_name(draw)} += (word){way};"


def _zeros(draw: Random) -> str:
    to, x = _name(draw), _name(draw)
    body = draw.choice(("x &= x - 1", "x ^= x & -x", "x -= x & -x"))
    return draw.choice(
        (
            f"for (word x = {x} >> 40; x; {body}) {to} += 3 * __builtin_ctzll(x) + 1;",
            f"{to} += __builtin_ctzll({x} | 1ull << {draw.randrange(64)});",
            f"{to} += __builtin_ctz((uint32_t){x} | 1u << {draw.randrange(32)});",
            f"if ({x}) {to} += {x} >> __builtin_ctzll({x});",
            f"{to} += __builtin_popcountll({x}) + __builtin_ffsll({x});",
        )
    )


def _bytes(draw: Random) -> str:
    to, x, at = _name(draw), _name(draw), draw.randrange(64)
    return draw.choice(
        (
            f"{to} ^= __builtin_bswap64({x});",
            f"{to} += __builtin_bswap32({x});",
            f"{to} += __builtin_bswap16({x});",
            f"halves[{at}] = __builtin_bswap32({x});",
            f"{to} += __builtin_bswap32(halves[{x} & 63]);",
            f"words[{x} & 63] = __builtin_bswap64(words[{at}]);",
            f"{{ uint32_t y = {x};"
            f" {to} += y >> 24 | (y >> 8 & 0xff00) | (y & 0xff00) << 8 | y << 24; }}",
        )
    )


def _products(draw: Random) -> str:
    to, x, y, z = (_name(draw) for _ in range(4))
    return draw.choice(
        (
            f"{to} = {x} * {y} + {z};",
            f"{to} += (int64_t)ints[{x} & 63] * ints[{y} & 63];",
            f"{to} += words[(int32_t){x} & 63] + words[32 + ((int32_t){y} >> 27)];",
            f"{to} += (uint64_t)((int64_t)(int32_t){x} * {1 << draw.randrange(1, 8)});",
            f"{to} = {x} * 0x{draw.getrandbits(64):x}ull ^ {y} >> {draw.randrange(1, 64)};",
        )
    )


def _arrays(draw: Random) -> str:
    to, size = _name(draw), draw.choice((8, 17, 32, 63))
    return draw.choice(
        (
            f"for (int i = 0; i < {size}; i++) words[i] = words[i] + {to};",
            f"for (int i = 0; i < {size}; i++) halves[i] ^= (uint32_t)ints[i];",
            f"for (int i = 0; i < {size}; i++) {to} += words[i] < words[63 - i];",
            f"for (int i = 0; i < {size}; i++) {to} = {to} * 3 + (ints[i] > 0);",
            f"for (int i = 0; i < {size}; i++) {to} += __builtin_popcount(halves[i]);",
        )
    )


def _chosen(draw: Random) -> str:
    to, other = _name(draw), draw.choice((_name(draw), "0"))
    return draw.choice(
        (
            f"if ({_test(draw)}) {to} = {other};",
            f"{to} = {_test(draw)} ? {to} : {other};",
            f"{{ word x = {_name(draw)}; if ({_test(draw)}) x = {other}; {to} ^= x * 7; }}",
        )
    )


def _places(draw: Random) -> str:
    to, at = _name(draw), draw.randrange(48)
    return draw.choice(
        (
            f"{to} += words[{at}]; words[{at}] = {_name(draw)};",
            f"{to} ^= halves[{at}]; halves[{at} + ({_name(draw)} & 7)] += 3;",
            f"{{ int32_t *p = ints + {at} + ({_name(draw)} & 7); if (*p > 9) {to} += p[3]; }}",
        )
    )


_IDIOMS: tuple[Draw, ...] = (
    *(_rest, _rest, _euclid, _rests_of_one, _compared, _compared, _ordered, _zeros, _zeros),
    *(_bytes, _bytes, _products, _products, _arrays),
)
IDIOMS: Mapping[str, Sequence[Draw]] = MappingProxyType(
    {"all": _IDIOMS, "choices": (_chosen, _chosen, _chosen, _places)}
)
"""What statements are of: all that a later chip does otherwise, or values that a test chooses, and
accesses at a distance from what an address was made of."""
