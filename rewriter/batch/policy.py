"""What is done to which file: a policy, read from a TOML file and checked before any work.

debuginfo = "ignore"             # a file whose debug file is not found; "refuse": it is left alone
refused = "keep"                 # a file that cannot be worked on stays; "fail": the run fails

[alpha]                          # by machine: what `retune patch` takes as options
cpu = "ev67"
tune = "ev6"
passes = ["bytes", "align"]

[options]
assume = "all"
debug = "keep"
min_gain = 0.5                   # per cent; a file that promises less is kept as it is

[paths]                          # globs, from the root of each tree; so for [packages]
allow = ["usr/lib/**"]
deny = ["*.debug"]

[functions]                      # regular expressions of whole names
deny = ["__libc_start_main"]
"""

from __future__ import annotations

import dataclasses
import difflib
import glob
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import targets
from rewriter.api import choose, files
from rewriter.api.choose import Wanted
from rewriter.batch.globs import matches
from rewriter.core.errors import BadUsage
from rewriter.core.target.protocol import Target
from rewriter.elf.headers import printable
from rewriter.road.options import KEEP, LINES

KEPT, FAIL = "keep", "fail"
REFUSE, IGNORE = "refuse", "ignore"
"""What becomes of a file with a debug link whose debug file is not found."""
_LONGEST = 1 << 16

_LISTS = {"allow": "names", "deny": "names"}
_SECTIONS = {
    "options": {"assume": "list", "debug": "debug", "min_gain": "percent"},
    "paths": _LISTS,
    "packages": _LISTS,
    "functions": _LISTS,
}
_MACHINE = {"cpu": "text", "tune": "text", "passes": "list"}


@dataclass(frozen=True)
class Choice:
    """What is allowed and what is not: everything where nothing is said, deny before allow."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def reason(self, name: str, what: str) -> str:
        """Why something is left alone by its name; empty where it is not."""
        if matches(name, self.deny):
            return f"the policy denies this {what}"
        if self.allow and not matches(name, self.allow):
            return f"the policy does not allow this {what}"
        return ""


@dataclass(frozen=True)
class Policy:
    """A policy: `machines` are the tunings by the name of their target."""

    machines: Mapping[str, Wanted] = field(default_factory=dict)
    refused: str = KEPT
    paths: Choice = Choice()
    packages: Choice = Choice()
    debuginfo: str | None = None

    def reason(self, path: str, package: str | None) -> str:
        """Why a file is left alone; empty where it is not."""
        found = self.paths.reason(path, "path")
        if not found and package is not None:
            found = self.packages.reason(package, "package")
        return found

    def as_json(self) -> dict[str, Any]:
        """Everything, for journals: the same policy gives the same document."""
        return {
            "machines": {n: dataclasses.asdict(w) for n, w in sorted(self.machines.items())},
            "refused": self.refused,
            "debuginfo": self.debuginfo,
            "paths": dataclasses.asdict(self.paths),
            "packages": dataclasses.asdict(self.packages),
        }

    def overridden(self, cpus: Collection[str] = (), **options: Any) -> Policy:
        """The policy with what a command line says instead.

        `cpus` are names of CPUs, each for the machine that has it; `options` are fields of `Wanted`
        for all machines, None where nothing was said.  BadUsage for two CPUs of one machine.
        """
        machines = dict(self.machines)
        for target, cpu in _by_machine(cpus).items():
            before = machines.get(target, Wanted())
            machines[target] = dataclasses.replace(before, cpu=cpu)
        said = {key: value for key, value in options.items() if value is not None}
        tuned = {name: dataclasses.replace(one, **said) for name, one in machines.items()}
        return dataclasses.replace(self, machines=tuned)

    def without(self, texts: Collection[str]) -> Policy:
        """The policy that also leaves files alone with one of these texts in their paths."""
        deny = (*self.paths.deny, *(f"**{glob.escape(text)}**" for text in texts))
        return dataclasses.replace(self, paths=dataclasses.replace(self.paths, deny=deny))

    def check(self) -> Policy:
        """The policy with the CPUs' own names, every name in it looked up; BadUsage for one that is
        not known."""
        known = {target.name: target for target in targets.every()}
        if not self.machines:
            raise BadUsage("no CPU is chosen", hint="--cpu NAME, or a policy with a CPU")
        for name, wanted in self.machines.items():
            if wanted.cpu is None:
                raise BadUsage(f"no CPU is chosen for {name}", hint="`retune cpus` lists them")
            choose.check(wanted)
            choose.resolve_for(known[name], wanted)
        machines = {name: _own(known[name], one) for name, one in self.machines.items()}
        return dataclasses.replace(self, machines=machines)


def _own(target: Target, wanted: Wanted) -> Wanted:
    """With the CPUs' own names: `native` is another one on another machine."""

    def own(option: str, name: str | None) -> str | None:
        return None if name is None else choose.cpu_named(target, option, name).name

    return dataclasses.replace(wanted, cpu=own("cpu", wanted.cpu), tune=own("tune", wanted.tune))


def _by_machine(names: Collection[str]) -> Mapping[str, str]:
    """The CPUs that are called so, by the target that has them."""
    found: dict[str, str] = {}
    for name in names:
        target, cpu = _target_with(name)
        if found.setdefault(target, cpu) != cpu:
            raise BadUsage(
                f"--cpu {found[target]} and --cpu {cpu}: both are CPUs of {target}",
                hint="one for each kind of machine; other files in a run of their own",
            )
    return found


def _target_with(cpu: str) -> tuple[str, str]:
    """The target that has a CPU of this name, and the CPU's own name."""
    refusals: list[BadUsage] = []
    for target in targets.every():
        try:
            return target.name, choose.cpu_named(target, "--cpu", cpu).name
        except BadUsage as refusal:
            refusals.append(refusal)
    hints = "; ".join(refusal.hint for refusal in refusals)
    raise BadUsage(refusals[0].message, hint=hints)


def read(path: Path) -> Policy:
    """A policy file; BadInput where it cannot be read, BadUsage with line and key for the rest."""
    try:
        text = files.read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadUsage(f"{printable(str(path))}: not UTF-8: {error.reason}") from error
    return parse(text, printable(str(path)))


def parse(text: str, label: str) -> Policy:
    """A policy from its text; `label` names it in errors."""
    if len(text) > _LONGEST:
        raise BadUsage(f"{label}: too long for a policy", hint=f"at most {_LONGEST} characters")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadUsage(f"{label}: not TOML: {error}") from error
    return _Reader(text, label).policy(document)


class _Reader:
    """A parsed document becomes a policy; what is wrong is told with the line of its key."""

    def __init__(self, text: str, label: str) -> None:
        self.text, self.label = text, label
        self.machines = [target.name for target in targets.every()]

    def policy(self, document: Mapping[str, Any]) -> Policy:
        known = ["refused", "debuginfo", *_SECTIONS, *self.machines]
        self._known((), document, known)
        tables = {name: document.get(name, {}) for name in known[2:]}
        for name, table in tables.items():
            keys = _SECTIONS.get(name, _MACHINE)
            if not isinstance(table, dict):
                raise self._wrong((name,), f"a table [{name}]")
            self._known((name,), table, keys)
        shared = self._values("options", tables["options"], _SECTIONS["options"])
        functions = self._choice("functions", tables["functions"])
        shared |= {"funcs": functions.allow, "skip_funcs": functions.deny}
        machines = {
            name: Wanted(**shared, **self._values(name, tables[name], _MACHINE))
            for name in self.machines
            if name in document
        }
        return self._checked(
            Policy(
                machines,
                self._one_of(("refused",), document.get("refused", KEPT), (KEPT, FAIL)),
                self._choice("paths", tables["paths"]),
                self._choice("packages", tables["packages"]),
                self._debuginfo(document.get("debuginfo")),
            )
        )

    def _debuginfo(self, value: object) -> str | None:
        return None if value is None else self._one_of(("debuginfo",), value, (REFUSE, IGNORE))

    def _checked(self, policy: Policy) -> Policy:
        """Names are looked up here, where they can be told by their line."""
        known = {target.name: target for target in targets.every()}
        for name, wanted in policy.machines.items():
            for key, value in (("cpu", wanted.cpu), ("tune", wanted.tune)):
                if value is not None:
                    self._asked((name, key), choose.cpu_named, known[name], key, value)
            self._asked(("options", "assume"), choose.assumed, wanted.assume)
            for key, patterns in (("allow", wanted.funcs), ("deny", wanted.skip_funcs)):
                only = Wanted(funcs=patterns, passes="none")
                self._asked(("functions", key), choose.check, only)
            if wanted.cpu is not None:
                self._asked((name, "passes"), choose.resolve_for, known[name], wanted)
        machines = {name: _own(known[name], one) for name, one in policy.machines.items()}
        return dataclasses.replace(policy, machines=machines)

    def _asked(self, key: tuple[str, ...], question: Callable[..., object], *given: Any) -> None:
        try:
            question(*given)
        except BadUsage as error:
            raise BadUsage(f"{self._place(key)}: {error.message}", hint=error.hint) from error

    def _known(
        self, table: tuple[str, ...], found: Mapping[str, Any], known: Collection[str]
    ) -> None:
        for key in found:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                meant = f"did you mean {near[0]}? " if near else ""
                hint = f"{meant}known here: {', '.join(known)}"
                raise BadUsage(f"{self._place((*table, key))}: no such key", hint=hint)

    def _values(
        self, table: str, found: Mapping[str, Any], keys: Mapping[str, str]
    ) -> dict[str, Any]:
        """Fields of `Wanted` from a table."""
        values: dict[str, Any] = {}
        for key in keys.keys() & found.keys():
            place, value = (table, key), found[key]
            if keys[key] == "debug":
                values[key] = self._one_of(place, value, (KEEP, LINES))
            elif keys[key] == "percent":
                values[key] = self._percent(place, value)
            elif keys[key] == "list" and isinstance(value, list):
                values[key] = ",".join(self._names(place, value))
            else:
                values[key] = self._text(place, value)
        return values

    def _choice(self, table: str, found: Mapping[str, Any]) -> Choice:
        lists = {key: self._names((table, key), found.get(key, [])) for key in _LISTS}
        return Choice(**lists)

    def _names(self, key: tuple[str, ...], value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self._wrong(key, "a list of texts")
        return tuple(value)

    def _text(self, key: tuple[str, ...], value: object) -> str:
        if not isinstance(value, str) or not value:
            raise self._wrong(key, "a text")
        return value

    def _percent(self, key: tuple[str, ...], value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 100:
            raise self._wrong(key, "a number from 0 to 100")
        return float(value)

    def _one_of(self, key: tuple[str, ...], value: object, known: Collection[str]) -> str:
        if not isinstance(value, str) or value not in known:
            raise self._wrong(key, " or ".join(f'"{one}"' for one in known))
        return value

    def _wrong(self, key: tuple[str, ...], wanted: str) -> BadUsage:
        return BadUsage(f"{self._place(key)}: must be {wanted}")

    def _place(self, key: tuple[str, ...]) -> str:
        """`policy.toml:7: paths.deny`."""
        name = printable(".".join(key))
        return f"{self.label}:{line_of(self.text, key)}: {name}"


def line_of(text: str, key: Sequence[str]) -> int:
    """The line, counted from 1, on which a key that a TOML text has stands.

    The text up to some line is TOML again unless a value goes on behind it: a key stands on the
    line after the last beginning that can be read and lacks it.
    """
    lines = text.splitlines(keepends=True)
    begun = [at for at, line in enumerate(lines) if "=" in line or line.lstrip().startswith("[")]
    lacking, end = 0, len(begun)  # from `end` on nothing can be read that lacks the key
    while end - lacking > 1:
        middle = (lacking + end) // 2
        readable = ((n, _read("".join(lines[: begun[n]]))) for n in range(middle, end))
        number, found = next((one for one in readable if one[1] is not None), (middle, None))
        if found is None or _holds(found, key):
            end = middle
        else:
            lacking = number
    return begun[lacking] + 1


def _read(text: str) -> dict[str, Any] | None:
    """A TOML text; None where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _holds(document: Any, key: Sequence[str]) -> bool:
    for part in key:
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True
