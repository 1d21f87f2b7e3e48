"""Names that a user gives become targets, CPUs, passes and functions, or a clear refusal."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewriter.api import host
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.capability import needed

if TYPE_CHECKING:
    from passes.lib.steps import Pass
    from rewriter.core.code.program import Function
    from rewriter.core.edit import Edit
    from rewriter.core.target.cpu import Cpu, System
    from rewriter.core.target.protocol import Sequential, Target
    from rewriter.elf.image import Image
    from rewriter.road.options import Options


@dataclass(frozen=True)
class Wanted:
    """What somebody asks of the tuning, names not yet looked up.

    The fields are the options of `retune patch`: `passes` and `assume` are lists as a,b,... or
    `none` or `all`, `timed` is `--cycles`, `min_gain` per cent.
    """

    cpu: str | None = None
    tune: str | None = None
    passes: str | None = None
    funcs: tuple[str, ...] = ()
    skip_funcs: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    max_edits: int | None = None
    timed: bool = False
    debug: str = "keep"
    assume: str = "all"
    min_gain: float | None = None
    exact: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """A tuning with every name looked up; `tune` is that of the CPU that decides what pays."""

    target: Target
    cpu: Cpu
    tune: str
    options: Options

    def record(self) -> dict[str, Any]:
        """The options as the manifest keeps them: what was used, not how it was spelled."""
        kept = dataclasses.asdict(self.options)
        del kept["cycles"]  # what is reported, not what is done
        if not self.options.exact:
            del kept["exact"]
        kept = {k: sorted(v) if isinstance(v, frozenset) else v for k, v in kept.items()}
        return {"tune": self.tune} | {
            k: list(v) if isinstance(v, tuple) else v for k, v in kept.items()
        }


def check(wanted: Wanted) -> None:
    """Refuse what is wrong whatever the file is, before a large one is read."""
    for option, patterns in (
        ("--funcs", wanted.funcs),
        ("--skip-funcs", wanted.skip_funcs),
        ("--exact", wanted.exact),
    ):
        for pattern in patterns:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise BadUsage(f"{option} {pattern}: not a regular expression: {error}") from error
    assumed(wanted.assume)
    if wanted.min_gain is not None and not 0 <= wanted.min_gain <= 100:
        raise BadUsage(f"--min-gain {wanted.min_gain:g}: not between 0 and 100 per cent")
    for option, name in (("--cpu", wanted.cpu), ("--tune", wanted.tune)):
        if name is not None and not name.strip():
            raise BadUsage(f"{option} is empty", hint="`retune cpus` lists the CPUs")
    if wanted.passes == "none":
        return
    _named_passes(wanted.passes)
    if wanted.cpu is None:
        raise BadUsage("--cpu is missing", hint="`retune cpus` lists the CPUs that retune knows")


def assumed(given: str) -> frozenset[str]:
    """The assumptions that a list names; BadUsage for one that is not known."""
    from rewriter.core.assumptions import EVERY

    if given in ("all", "none"):
        return EVERY if given == "all" else frozenset()
    names = frozenset(name.strip() for name in given.split(","))
    unknown = sorted(names - EVERY)
    if unknown:
        known = ", ".join(sorted(EVERY))
        raise BadUsage(
            f"--assume {given}: {unknown[0] or 'nothing'} is no assumption",
            hint=f"it takes {known}",
        )
    return names


def target_of(image: Image) -> Target:
    """The target of a file that holds code."""
    import targets

    target = targets.of(image)
    if not image.executable_ranges():
        raise BadInput(f"{image.name}: holds no code", hint="no section or segment is executable")
    return target


def resolve(image: Image, wanted: Wanted) -> Chosen | None:
    """Look all names up for a file; None when no pass runs, which needs no target."""
    if wanted.passes == "none" and not (_known(image) and image.executable_ranges()):
        return None
    target = target_of(image)
    if wanted.exact:
        needed(target.bundling, "--exact", target, image.name)
    for option, name in (("--cpu", wanted.cpu), ("--tune", wanted.tune)):
        if name:
            cpu_for(image, target, option, name)
    return resolve_for(target, wanted)


def resolve_for(target: Target, wanted: Wanted) -> Chosen | None:
    """Look all names up for a target, whatever its file; None when no pass runs."""
    from rewriter.road.options import Options

    cpu = cpu_named(target, "--cpu", wanted.cpu) if wanted.cpu else None
    tune = cpu_named(target, "--tune", wanted.tune) if wanted.tune else cpu
    if wanted.passes == "none" or cpu is None or tune is None:
        return None
    options = Options(
        passes=_passes(wanted.passes, cpu, target),
        funcs=wanted.funcs,
        skip_funcs=wanted.skip_funcs,
        only=frozenset(wanted.only),
        skip=frozenset(wanted.skip),
        max_edits=wanted.max_edits,
        cycles=wanted.timed,
        debug=wanted.debug,
        assume=assumed(wanted.assume),
        exact=wanted.exact,
    )
    # The instructions of one CPU, all else of the other: gcc's -mcpu and -mtune.
    if tune is not cpu:
        cpu = dataclasses.replace(
            tune, name=cpu.name, description=cpu.description, features=cpu.features
        )
    return Chosen(target, cpu, tune.name, options)


def here(wanted: Wanted) -> Wanted:
    """The same with the name of this machine's CPU for `native`, which is another one elsewhere."""

    def named(name: str | None) -> str | None:
        return name if name is None or not _is_native(name) else host.cpu()

    return dataclasses.replace(wanted, cpu=named(wanted.cpu), tune=named(wanted.tune))


def made(wanted: Wanted, edits: Iterable[Edit]) -> None:
    """Refuse an `--only` that names no edit: a slip of the pen would silently do nothing."""
    known = {edit.id for edit in edits}
    for name in wanted.only:
        if name not in known and wanted.max_edits is None and name not in wanted.skip:
            hint = "`retune patch IN --dry-run -v` lists the ids for a CPU"
            raise BadUsage(f"--only {name}: no such edit was made", hint=hint)


def named(wanted: Wanted, names: Collection[str]) -> None:
    """Refuse `--funcs` and `--exact` that match no function, and a `--skip` that is no edit's."""
    from passes import ORDER

    for option, patterns in (("--funcs", wanted.funcs), ("--exact", wanted.exact)):
        if patterns and not any(re.fullmatch(p, name) for p in patterns for name in names):
            given = " ".join(f"{option} {pattern}" for pattern in patterns)
            raise BadUsage(
                f"{given}: no function is called so", hint="`retune identify -vv` lists them"
            )
    passes = {technique.name for technique in ORDER}
    for skip in wanted.skip:
        technique, _, site = skip.partition(":")
        name, _, offset = site.rpartition("+")
        if technique not in passes or name not in names or not re.fullmatch("[0-9a-f]+", offset):
            hint = "`retune patch IN --dry-run -v` lists the ids for a CPU"
            raise BadUsage(f"--skip {skip}: no edit can be called so", hint=hint)


def function(functions: Sequence[Function], image: Image, name: str) -> Function:
    """The function called `name`, by any of its symbols, or at an address 0x..."""
    by_name = {f.name: f for f in reversed(functions)}
    if name in by_name:
        return by_name[name]
    symbols = {s.name: image.code_address(s) for s in image.symbols if s.st_shndx and s.name}
    address = symbols.get(name)
    if address is None and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", name):
        address = int(name, 16)
    found = next((f for f in functions if address is not None and address in f), None)
    if found is None:
        hint = _like(name, by_name.keys() | symbols.keys()) or "`retune identify -vv` lists them"
        raise BadUsage(f"{name}: no such function in {image.name}", hint=hint)
    return found


def _known(image: Image) -> bool:
    import targets

    return targets.knows(image.ident)


def cpu_named(target: Target, option: str, name: str) -> Cpu:
    """A CPU by its name (ev67), its chip's (21264A), or Linux's (EV67), in any case.

    `native` is the CPU of this machine.
    """
    import targets

    native = _is_native(name)
    wanted = host.cpu() if native else name
    found = _called(target, wanted)
    if found is not None:
        return found
    of = f"{option} native: this machine has {wanted!r}, which is" if native else ""
    known = f"known for {target.name}: {', '.join(target.cpus)}"
    others = (one.name for one in targets.every() if _called(one, wanted) is not None)
    if owner := next(others, ""):
        of = of or f"{option} {name}: is"
        raise BadUsage(f"{of} a CPU of {owner}, not of {target.name}", hint=known)
    if native:
        raise BadUsage(f"{of} no CPU that retune knows", hint=known)
    hint = "; ".join(filter(None, (_like(name, target.cpus), known)))
    raise BadUsage(f"{option} {name}: no such CPU", hint=hint)


def _is_native(name: str) -> bool:
    return name.casefold() == host.NATIVE


def _called(target: Target, name: str) -> Cpu | None:
    """The CPU of a target that is called so; None where none is."""
    wanted = {name.casefold(), host.plain(name).casefold()}
    if own := next((key for key in target.cpus if key.casefold() in wanted), None):
        return target.cpus[own]
    return next((one for one in target.cpus.values() if wanted & _names(one)), None)


def _names(cpu: Cpu) -> set[str]:
    """What else a CPU is called; `740/750` is one name of Linux's for two chips."""
    every = (cpu.description, *cpu.called, *(part for n in cpu.called for part in n.split("/")))
    return {name.casefold() for name in every}


def cpu_for(image: Image, target: Target, option: str, name: str) -> Cpu:
    """A CPU by its name, as `cpu_named`; BadUsage for one that does not run the file's code."""
    cpu = cpu_named(target, option, name)
    if target.baseline <= cpu.features:
        return cpu
    ident = image.ident
    able = (one.name for one in target.cpus.values() if target.baseline <= one.features)
    raise BadUsage(
        f"{option} {name}: runs no {ident.bits}-bit {ident.byteorder}-endian code",
        hint=f"known for this file: {', '.join(able)}",
    )


def system_named(target: Sequential, name: str) -> System:
    """A machine by its name, in any case."""
    found = target.systems.get(name.casefold())
    if found is None:
        hint = f"known for {target.name}: {', '.join(target.systems)}"
        raise BadUsage(f"--machine {name}: no such machine", hint=hint)
    return found


def _named_passes(text: str | None) -> tuple[Pass, ...] | None:
    """The passes that a list names, in the order in which they run; None for all."""
    import passes

    if text is None or text == "all":
        return None
    names = [name.strip() for name in text.split(",")]
    known = passes.names()
    for name in names:
        if name not in known:
            hint = "; ".join(filter(None, (_like(name, known), f"known: {', '.join(known)}")))
            raise BadUsage(f"--passes {text}: no such pass: {name!r}", hint=hint)
    return passes.chosen(names)


def _passes(text: str | None, cpu: Cpu, target: Target) -> tuple[str, ...]:
    import passes

    offered = passes.offered(target)
    named = _named_passes(text)
    for technique in named or ():
        if technique.name not in offered:
            hint = f"known for {target.name}: {', '.join(sorted(offered))}"
            raise BadUsage(f"--passes {technique.name}: not for {target.name}", hint=hint)
        if needed := passes.lacking(technique, target, cpu):
            needs = " or ".join(sorted(needed))
            raise BadUsage(f"--passes {technique.name}: needs {needs}, which {cpu.name} lacks")
    every = passes.chosen(offered) if named is None else named
    return tuple(one.name for one in every if not passes.lacking(one, target, cpu))


def _like(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""
