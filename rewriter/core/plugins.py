"""What other packages add by entry points: listed by name, loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from rewriter.core.errors import BadUsage

if TYPE_CHECKING:
    from rewriter.core.target.cpu import Cpu

CPUS, PASSES = "retune.cpus", "retune.passes"
"""The groups of entry points: `TARGET.NAME = module:CPU` and `NAME = module:Pass`."""

_Loaded = TypeVar("_Loaded")


class BrokenPlugin(BadUsage):
    """A plug-in that cannot be loaded, or is not what its group holds."""


@cache
def offered(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by name; nothing of them is loaded.

    Raises BrokenPlugin where two packages offer the same name.
    """
    found = sorted(set(entry_points(group=group)), key=lambda entry: (entry.name, entry.value))
    for one, other in pairwise(found):
        if one.name == other.name:
            raise broken(other, f"{one.value} has the same name")
    return tuple(found)


def load(entry: EntryPoint, fault: Callable[[object], str], kind: type[_Loaded]) -> _Loaded:
    """What an entry point stands for.

    `fault` says what is wrong with the object, or nothing; an import or a class that fails, or an
    object that is no `kind`, is BrokenPlugin too.
    """
    try:
        found = entry.load()
        found = found() if isinstance(found, type) else found
    except Exception as error:
        raise broken(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, kind):
        raise broken(entry, f"it is no {kind.__name__}, but {type(found).__name__}")
    if wrong := fault(found):
        raise broken(entry, wrong)
    return found


def broken(entry: EntryPoint, why: str) -> BrokenPlugin:
    """The error that names a plug-in: its package, group and entry."""
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return BrokenPlugin(
        f"plug-in {entry.group} {entry.name} = {entry.value} of {package}: {why}",
        hint=f"repair or uninstall {package.split()[0]}",
    )


class Cpus(Mapping[str, "Cpu"]):
    """The CPUs of a target by name: its own first, then those of plug-ins, loaded when read."""

    def __init__(self, target: str, own: Mapping[str, Cpu]) -> None:
        self._own, self._added = own, dict[str, EntryPoint]()
        for entry in offered(CPUS):
            of, _, name = entry.name.partition(".")
            if of != target:
                continue
            if name in own:
                raise broken(entry, f"retune has a CPU {name}")
            self._added[name] = entry

    @property
    def own(self) -> Mapping[str, Cpu]:
        """Those that no plug-in brings."""
        return self._own

    def __getitem__(self, name: str) -> Cpu:
        if name in self._own:
            return self._own[name]
        return _cpu(self._added[name], name)

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._added

    def __len__(self) -> int:
        return len(self._own) + len(self._added)


def check_cpus(targets: Collection[str]) -> None:
    """Refuse a plug-in's CPU for a target that there is not: BrokenPlugin."""
    for entry in offered(CPUS):
        if entry.name.partition(".")[0] not in targets:
            raise broken(entry, f"the name is not TARGET.NAME with one of {', '.join(targets)}")


@cache
def _cpu(entry: EntryPoint, name: str) -> Cpu:
    from rewriter.core.target.cpu import Cpu

    def fault(found: object) -> str:
        given = getattr(found, "name", None)
        return "" if given == name else f"the CPU calls itself {given!r}"

    return load(entry, fault, Cpu)
