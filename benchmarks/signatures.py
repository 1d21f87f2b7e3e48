"""How well signatures recognise: recall and false positives, over real and freshly built files.

    python benchmarks/signatures.py

Three tables:

- linked files whose names are hidden from the search: each set of signatures against each file.
  "named" are the places that symbols name after a routine whose code the set has a source of, or
  (for sets built otherwise) any; a false positive is a place that is called known and that no
  symbol names after that routine;
- leave one out: signatures of all builds but one CPU and level, on a library of that one (where
  lib/string.c's own memcpy loses its name to memcpy.c's, and is then counted as unnamed);
- signatures alone, without behaviour, on every function of every file; `wrong` are matches at
  functions that are named otherwise (Linux's bcmp is memcmp again), `inside` those within one.

Behaviour decides what is known; full-length matches that it refused are counted, too.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fixtures import sources
from fixtures.inputs import Missing, find
from rewriter.contracts import CONTRACTS
from rewriter.elf.archive.members import parts
from rewriter.elf.archive.text import Named, read
from rewriter.elf.image import Image, load
from rewriter.identify.compiler import compile_file
from rewriter.identify.search import search, text_of
from rewriter.identify.signatures import Database, Signature
from rewriter.identify.symbols import contract_of
from rewriter.verify.routines.known import Status, known_routines, like_routines, unknown_functions
from targets.alpha import Alpha

TARGET = Alpha()
LIBC_A = "/usr/alpha-linux-gnu/lib/libc.a"
LEFT_OUT = """
leave one build out: routines; matched by signatures of the others, known, refused;
not known, of these behaving like it by shape; other functions called known, or like a routine"""
TILES = 35 << 20  # bytes: a large kernel


def database(name: str, data: bytes) -> Database:
    """The signatures of one file."""
    return Database.of("alpha", compile_file(data, name, TARGET, CONTRACTS).signatures)


def hidden(image: Image) -> Image:
    """The same file without symbols."""
    return replace(image, symbols=())


def named(image: Image) -> dict[int, set[str]]:
    """Routines by the address that a symbol gives them."""
    found: dict[int, set[str]] = defaultdict(set)
    for symbol in image.symbols:
        contract = contract_of(symbol.name, CONTRACTS) if symbol.st_shndx else None
        if contract is not None:
            found[symbol.st_value].add(contract)
    return found


@dataclass(frozen=True)
class Row:
    """One set of signatures against one linked file; counts of places."""

    signatures: str
    file: str
    named: int
    covered: int
    known: int
    refused: int
    ambiguous: int
    false: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.signatures:12}{self.file:15}{self.named:>6}{self.covered:>9}{self.known:>7}"
            f"{self.refused:>9}{self.ambiguous:>10}{self.false:>7}{self.seconds:>9.2f}"
        )


def linked(label: str, signatures: Database, file: str, image: Image) -> Row:
    """Search and confirm in an image that shows no names."""
    places = named(image)
    started = time.perf_counter()
    found = known_routines(hidden(image), TARGET, signatures, CONTRACTS)
    seconds = time.perf_counter() - started
    known = [f for f in found if f.known]
    right = [f for f in known if f.routine in places.get(f.address, ())]
    counts = Counter(f.status for f in found)
    wanted = {(routine, at) for at, routines in places.items() for routine in routines}
    covered = {(f.routine, f.address) for f in found} & wanted
    return Row(
        label, file, len(wanted), len(covered), len(right), counts[Status.REFUSED],
        counts[Status.AMBIGUOUS], len(known) - len(right), seconds,
    )  # fmt: skip


@dataclass(frozen=True)
class Build:
    """The signatures of one CPU and level, and the code of everything in it."""

    label: str
    signatures: tuple[Signature, ...]


def builds(tree: sources.Tree) -> list[Build]:
    """The objects of an archive by CPU and level."""
    data = sources.built(tree).read_bytes()
    groups: dict[str, list[Signature]] = defaultdict(list)
    for signature in compile_file(data, tree.name, TARGET, CONTRACTS).signatures:
        for source in signature.sources:
            groups["-".join(source.inside.strip("()").split("-")[:2])].append(signature)
    return [Build(label, tuple(found)) for label, found in sorted(groups.items()) if "O" in label]


def left_out(tree: sources.Tree, every: Sequence[Build], one: Build) -> str:
    """How a build fares with the signatures of all others, its names hidden."""
    others = (s for build in every if build is not one for s in build.signatures)
    image = load(sources.library(tree, one.label))
    bare, places = hidden(image), named(image)
    wanted = {(routine, at) for at, routines in places.items() for routine in routines}
    found = known_routines(bare, TARGET, Database.of("alpha", others), CONTRACTS)
    known = {(f.routine, f.address) for f in found if f.known}
    refused = {(f.routine, f.address) for f in found if f.status is Status.REFUSED}
    known_at = {at for _, at in known}
    functions = [f for f in unknown_functions(image, TARGET, ()) if f.start not in known_at]
    guesses = like_routines(bare, TARGET, functions, CONTRACTS)
    like = {(f.routine, f.address) for f in guesses}
    matched, rest = {(f.routine, f.address) for f in found}, wanted - known
    figures = (len(wanted), len(matched & wanted), len(known & wanted), len(refused & wanted))
    wrong = (len(known - wanted), sum(at not in places for _, at in like))
    return "".join(f"{n:>6}" for n in (*figures, len(rest), len(like & rest), *wrong))


@dataclass
class Counts:
    """Of the code in a file, linked or not: what signatures alone say."""

    named: int = 0
    found: int = 0
    functions: int = 0
    wrong: int = 0
    inside: int = 0

    def __str__(self) -> str:
        counts = (self.named, self.found, self.functions, self.wrong, self.inside)
        return "".join(f"{count:>10}" for count in counts)


def objects(name: str, data: bytes, signatures: Database) -> Counts:
    """Looks at every function of a file, its symbols being the truth."""
    counts = Counts()
    for part in parts(data, name):
        for text in read(part, name).texts:
            words = np.frombuffer(text.data[: len(text.data) // 4 * 4], dtype="<u4")
            starts: dict[int, set[str | None]] = defaultdict(set)
            for symbol in text.symbols:
                starts[symbol.offset].add(_contract(symbol))
            matches = search([(0, words.astype("u4"))], TARGET, signatures)
            places = {(match.address, match.signature.routine) for match in matches}
            wanted = {(at, c) for at, names in starts.items() for c in names if c}
            counts.named += len(wanted)
            counts.found += len(wanted & places)
            counts.functions += sum(names == {None} for names in starts.values())
            counts.wrong += sum(at in starts for at, _ in places - wanted)
            counts.inside += sum(at not in starts for at, _ in places - wanted)
    return counts


def _contract(symbol: Named) -> str | None:
    return contract_of(symbol.name, CONTRACTS)


def by_shape(image: Image) -> tuple[set[str], set[str], float]:
    """Routines that are named, those that shape and behaviour find without signatures, seconds."""
    places = named(image)
    started = time.perf_counter()
    functions = unknown_functions(hidden(image), TARGET, ())
    found = like_routines(hidden(image), TARGET, functions, CONTRACTS)
    seconds = time.perf_counter() - started
    right = {f.routine for f in found if f.routine in places.get(f.address, ())}
    print(f"  {len(found)} claims, {sum(f.address in places for f in found)} at a named routine")
    return {routine for routines in places.values() for routine in routines}, right, seconds


def speed(image: Image, signatures: Database) -> tuple[float, float]:
    """Seconds to search the image, and text of a large kernel's size made of it."""
    ranges = text_of(image, TARGET)
    longest = max(ranges, key=lambda item: len(item[1]))[1]
    large = np.tile(longest, TILES // (4 * len(longest)) + 1)[: TILES // 4]
    taken = []
    for text in (ranges, [(0, large)]):
        started = time.perf_counter()
        search(text, TARGET, signatures)
        taken.append(time.perf_counter() - started)
    return taken[0], taken[1]


def main() -> int:
    """Prints the tables; status 1 when an input is missing."""
    try:
        libc, kernel = load(find("alpha-libc")), load(find("alpha-vmlinux"))
        with open(LIBC_A, "rb") as stream:
            archive = stream.read()
        files = {
            "libc.so": find("alpha-libc").read_bytes(),
            "libc.a": archive,
            **{tree.name: sources.built(tree).read_bytes() for tree in sources.TREES},
        }
    except (Missing, OSError) as missing:
        print(missing, file=sys.stderr)
        return 1
    sets = {label: database(label, data) for label, data in files.items()}
    sets["all"] = Database.merged("alpha", sets.values())
    print(f"{'signatures':12}{'file':15}{'named':>6}{'matched':>9}{'known':>7}{'refused':>9}"
          f"{'ambiguous':>10}{'false':>7}{'seconds':>9}")  # fmt: skip
    for label, signatures in sets.items():
        for file, image in (("libc.so.6.1", libc), ("vmlinux 6.1", kernel)):
            print(linked(label, signatures, file, image), flush=True)
    print(LEFT_OUT)
    for tree in sources.TREES:
        every = builds(tree)
        for one in every:
            print(f"{tree.name:8}{one.label:10}{left_out(tree, every, one)}", flush=True)
    print(f"\nsignatures alone, symbols as the truth: {'named':>15}{'found':>10}{'others':>10}"
          f"{'wrong':>10}{'inside':>10}")  # fmt: skip
    for label, data in files.items():
        for by in (label, "libc.a", "all"):
            print(f"{label:10} by {by:8}{'':22}{objects(label, data, sets[by])}")
    print("\nby shape and behaviour alone, libc.so.6.1:")
    wanted, right, seconds = by_shape(libc)
    missed = ", ".join(sorted(wanted - right))
    print(f"  {len(right)} of {len(wanted)} routines in {seconds:.1f} s; not found: {missed}")
    small, large = speed(libc, sets["all"])
    print(f"\nsearch: libc {small:.2f} s, 35 MiB of text {large:.2f} s,"
          f" {len(sets['all'].signatures)} signatures")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
