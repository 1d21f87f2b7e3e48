"""The rooms and floors of docs/architecture.md: imports go down only, targets are asked.

The rules are read from the source text (no module is imported), and each is shown to be able to
fail on a module made up for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Room (a module and all below it) -> floor. `rewriter` itself is its __init__ only.
FLOORS = {
    "rewriter.interface": 6,
    "rewriter.cli": 5,
    "rewriter.__main__": 5,
    "rewriter.api": 4,
    "rewriter.road": 4,
    "rewriter.batch": 4,
    "rewriter.bisect": 4,
    "rewriter.kit": 4,
    "rewriter.packages": 4,
    "rewriter.report": 4,
    "rewriter.suites": 4,
    "passes": 3,
    "rewriter.elf": 2,
    "rewriter.analysis": 2,
    "rewriter.identify": 2,
    "rewriter.verify": 2,
    "rewriter.timing": 2,
    "rewriter.difftest": 2,
    "targets": 1,
    "rewriter.contracts": 0,
    "rewriter.core": 0,
    "rewriter": 0,
}
# The only imports between rooms of one floor, (importer, imported); together without a cycle.
SIDEWAYS = {
    ("rewriter.__main__", "rewriter.cli"),
    ("rewriter.api", "rewriter.road"),
    ("rewriter.api", "rewriter.report"),
    ("rewriter.api", "rewriter.kit"),
    ("rewriter.batch", "rewriter.api"),
    ("rewriter.packages", "rewriter.batch"),
    ("rewriter.packages", "rewriter.report"),
    ("rewriter.batch", "rewriter.road"),
    ("rewriter.batch", "rewriter.report"),
    ("rewriter.bisect", "rewriter.api"),
    ("rewriter.bisect", "rewriter.road"),
    ("rewriter.bisect", "rewriter.report"),
    ("rewriter.road", "rewriter.report"),
    ("rewriter.report", "rewriter.suites"),
    ("rewriter.kit", "rewriter.report"),
    ("rewriter.kit", "rewriter.suites"),
    ("rewriter.analysis", "rewriter.elf"),
    ("rewriter.identify", "rewriter.analysis"),
    ("rewriter.identify", "rewriter.elf"),
    ("rewriter.verify", "rewriter.elf"),
    # The verifier looks at the original with the same eyes, and at nothing that the rewriter made.
    ("rewriter.verify", "rewriter.analysis"),
    ("rewriter.verify", "rewriter.identify"),
    ("rewriter.difftest", "rewriter.analysis"),
    ("rewriter.difftest", "rewriter.elf"),
    ("rewriter.difftest", "rewriter.identify"),
    ("rewriter.difftest", "rewriter.verify"),
    ("rewriter", "rewriter.core"),
    # What a trial runs is a case of a contract.
    ("rewriter.core", "rewriter.contracts"),
}
PRODUCT = ("rewriter", "passes", "targets")
TARGETS = ("alpha", "ppc", "ia64")
ARCHITECTURES = {*TARGETS, "ppc64", "powerpc", "powerpc64", "itanium"}
MACHINE_NAMES = {"machine", "e_machine", "machine_type"}


def room_of(module: str) -> str | None:
    """The room of a module, None for one outside every room (or outside the product)."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        room = ".".join(parts[:length])
        if room in FLOORS and (room != "rewriter" or length == len(parts)):
            return room
    return None


def imports(module: str, is_package: bool, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, relative imports resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".")[: None if is_package else -1]
                package = package[: len(package) - node.level + 1]
                base = ".".join([*package, *([base] if base else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                # `from rewriter import x`: a room below it, or a plain name of its __init__.
                yield node.lineno, base if base == "rewriter" and not room_of(full) else full


def import_fault(module: str, imported: str) -> str | None:
    """Why `module` must not import `imported`, None when it may."""
    top = imported.split(".")[0]
    if top == "click" and room_of(module) != "rewriter.cli":
        return "only rewriter/cli imports click"
    if top in ("fixtures", "tests", "benchmarks", "scripts"):
        return f"the product does not import {top}"
    if top not in PRODUCT:
        return None
    here, there = room_of(module), room_of(imported)
    if here is None or there is None:
        return f"{module if here is None else imported} is in no room of the design"
    if here != there and (here, there) not in SIDEWAYS and FLOORS[there] >= FLOORS[here]:
        return f"{here} (floor {FLOORS[here]}) imports {there} (floor {FLOORS[there]})"
    return target_fault(module, imported)


def target_fault(module: str, name: str) -> str | None:
    """Why `module` must not name one target: only the registry and that target itself may."""
    parts = name.split(".")
    if len(parts) < 2 or parts[0] != "targets" or parts[1] not in TARGETS:
        return None
    if module == "targets" or module.split(".")[:2] == parts[:2]:
        return None
    return f"{name} is named outside the registry targets/__init__.py"


def _names(node: ast.AST) -> set[str]:
    """Identifiers and attribute names within an expression."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def _constants(node: ast.AST) -> set[object]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}


def machine_faults(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Places above targets/ that decide by architecture instead of asking the target."""
    if room_of(module) == "targets":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.Match):
            names, constants = _names(node), _constants(node)
            known = {c for c in constants if isinstance(c, str)} & ARCHITECTURES
            if isinstance(node, ast.Match):
                names, known = _names(node.subject), set()
            numbers = any(type(c) is int for c in constants)
            if known or (names & MACHINE_NAMES and (numbers or isinstance(node, ast.Match))):
                yield node.lineno, "decides by architecture: ask the target"
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name.startswith("EM_"):
                yield node.lineno, f"{name}: machine numbers belong to targets/"
        elif isinstance(node, ast.Constant) and (fault := target_fault(module, str(node.value))):
            yield node.lineno, fault


# Kinds of target, CPU and timing engine: nothing above targets/ asks which of them something is.
KINDS = {
    "Target", "Sequential", "Bundling",
    "Cpu", "BundledCpu", "InOrder", "OutOfOrder", "Dispatched", "Bundled", "Pipeline",
    "Engine", "InOrderEngine", "OutOfOrderEngine", "DispatchedEngine",
}  # fmt: skip


def kind_faults(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Places above targets/ that decide by the type of a target, a CPU or an engine."""
    if room_of(module) == "targets":
        return
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asked = list(node.args[1:]) if node.func.id in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        elif isinstance(node, ast.Compare) and _asks_type(node):
            asked = [node.left, *node.comparators]
        for kind in sorted({name for part in asked for name in _names(part)} & KINDS):
            yield node.lineno, f"asks for the type {kind}: ask for a capability"


# Where code of bundles is told from other code: `either`, and what a pass says of itself.
_CHOOSING = "rewriter.core.target.capability"


def road_faults(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Places above targets/ that choose between the roads themselves."""
    if room_of(module) == "targets" or module == _CHOOSING:
        return
    saying = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "offered"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        asks = isinstance(node, ast.Compare | ast.If | ast.IfExp | ast.While)
        if not asks or (module.startswith("passes.") and id(node) in saying):
            continue
        asked = node if isinstance(node, ast.Compare) else getattr(node, "test", node)
        if "bundling" in {n.attr for n in ast.walk(asked) if isinstance(n, ast.Attribute)}:
            yield node.lineno, "chooses a road: give `either` what is done on each"


def untyped_faults(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Members of the vocabulary's protocols that are said to be `Any`."""
    if room_of(module) not in ("rewriter.core", "rewriter.contracts"):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or not any(
            "Protocol" in _names(b) for b in node.bases
        ):
            continue
        for member in node.body:
            if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                said: list[ast.expr | None] = [member.annotation]
                name = member.target.id
            elif isinstance(member, ast.FunctionDef):
                said = [argument.annotation for argument in member.args.args]
                said.append(member.returns)
                name = member.name
            else:
                continue
            if any(one is not None and "Any" in _bare(one) for one in said):
                fault = f"{node.name}.{name} is Any: a seam between floors has a type"
                yield member.lineno, fault


def _bare(annotation: ast.expr) -> set[str]:
    """The names that an annotation is, or has as parts of a union or as what a sequence holds."""
    arrays = {
        n for n in ast.walk(annotation) if isinstance(n, ast.Subscript) and "NDArray" in _names(n)
    }
    return set() if arrays else _names(annotation)


def _asks_type(node: ast.Compare) -> bool:
    """Whether one side of a comparison is `type(x)`."""
    sides = [node.left, *node.comparators]
    return any(
        isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id == "type"
        for side in sides
    )


def violations(module: str, source: str, is_package: bool = False) -> list[str]:
    """All breaches of the floors in one module's source text."""
    tree = ast.parse(source)
    if room_of(module) is None:
        return [f"{module}: in no room of the design"]
    faults = [
        *machine_faults(module, tree),
        *kind_faults(module, tree),
        *road_faults(module, tree),
        *untyped_faults(module, tree),
    ]
    for line, imported in imports(module, is_package, tree):
        if fault := import_fault(module, imported):
            faults.append((line, fault))
    return [f"{module}:{line}: {fault}" for line, fault in sorted(set(faults))]


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its full name."""
    found = {}
    for top in PRODUCT:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@pytest.mark.parametrize("module", modules())
def test_module_keeps_to_its_floor(module: str) -> None:
    """The real source text."""
    path = modules()[module]
    assert not violations(module, path.read_text(encoding="utf-8"), path.stem == "__init__")


def test_sideways_imports_have_no_cycle() -> None:
    """Taking away rooms that import nothing sideways must leave nothing."""
    edges = set(SIDEWAYS)
    while leaves := {there for _, there in edges} - {here for here, _ in edges}:
        edges = {(here, there) for here, there in edges if there not in leaves}
    assert not edges


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("rewriter.core.op", "import rewriter.elf.image", "floor 0"),
        ("rewriter.core.op", "from targets import registry", "floor 0"),
        ("rewriter.core.op", "from ..elf import image", "floor 0"),
        ("targets.alpha.isa", "from rewriter.verify import prove", "floor 1"),
        ("targets.alpha.isa", "from passes import bytes", "floor 1"),
        ("rewriter.elf.image", "from rewriter.identify import functions", "floor 2"),
        ("rewriter.elf.image", "from rewriter import verify", "floor 2"),
        ("rewriter.verify.prove", "import rewriter.timing", "floor 2"),
        ("passes.bytes", "from rewriter.road.pipeline import patch", "floor 3"),
        ("rewriter.report.table", "from rewriter.road.pipeline import patch", "floor 4"),
        ("rewriter.road.pipeline", "import rewriter.cli", "floor 4"),
        ("rewriter.road.pipeline", "import click", "only rewriter/cli imports click"),
        ("rewriter.core.errors", "def f():\n    from click import echo", "only rewriter/cli"),
        ("rewriter.stray", "", "in no room"),
        ("passes.bytes", "from rewriter.stray import thing", "in no room"),
        ("passes.bytes", "from targets.alpha import isa", "outside the registry"),
        ("passes.bytes", "from targets import alpha", "outside the registry"),
        ("targets.ppc.isa", "from targets.alpha import isa", "outside the registry"),
        ("rewriter.road.pipeline", "load('targets.alpha')", "outside the registry"),
        ("rewriter.elf.image", "if image.machine == 0x9026: pass", "ask the target"),
        ("rewriter.elf.image", "match e_machine:\n    case 20: pass", "ask the target"),
        ("passes.bytes", "if target.name == 'alpha': pass", "ask the target"),
        ("passes.bytes", "if target.name in ('ppc', 'x'): pass", "ask the target"),
        ("rewriter.elf.image", "x = elf.EM_ALPHA", "machine numbers belong"),
        ("passes.bytes", "from fixtures import inputs", "the product does not import fixtures"),
        ("rewriter.core.x", "class A(Protocol):\n    trials: Any", "A.trials is Any"),
        (
            "rewriter.core.x",
            "class A(B, Protocol):\n    def f(self, x: Any) -> int: ...",
            "A.f is Any",
        ),
        ("rewriter.core.x", "class A(Protocol):\n    def f(self) -> Any | None: ...", "A.f is Any"),
        ("passes.align", "if isinstance(target, Bundling): pass", "asks for the type Bundling"),
        ("passes.align", "x = isinstance(t, (int, bundling.Bundling))", "type Bundling"),
        ("passes.align", "x = issubclass(type(cpu), BundledCpu)", "type BundledCpu"),
        ("passes.align", "assert isinstance(cpu.pipeline, InOrder | OutOfOrder)", "type InOrder"),
        ("rewriter.cli.look", "if target.bundling is None: pass", "chooses a road"),
        ("rewriter.cli.look", "x = 1 if target.bundling else 2", "chooses a road"),
        ("passes.align", "def run(t):\n    return t.bundling is not None", "chooses a road"),
        ("rewriter.timing.model", "match p:\n    case OutOfOrder(): pass", "type OutOfOrder"),
        ("rewriter.timing.model", "if type(cpu.pipeline) is InOrder: pass", "type InOrder"),
    ],
)
def test_a_bad_module_is_seen(module: str, source: str, fault: str) -> None:
    """Each rule can fail."""
    assert any(fault in found for found in violations(module, source))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rewriter.cli.patch", "import click\nfrom rewriter import pipeline\nimport targets"),
        ("rewriter.road.pipeline", "from rewriter import __version__\nfrom passes import ORDER"),
        ("rewriter.verify.prove", "from rewriter.elf.image import Image\nimport numpy"),
        ("rewriter.elf.emit", "from . import image\nfrom .image import Image\nimport targets"),
        ("targets", "from targets.alpha import TARGET\nfrom rewriter.core.isa import Isa"),
        ("targets.alpha.isa", "from targets.alpha import abi\nfrom targets import base"),
        ("rewriter.elf.image", "same = old.machine == new.machine"),
        ("passes.align", "if target.hints is None or isinstance(x, int): pass"),
        ("passes.align", "def offered(self, t):\n    return t.bundling is not None"),
        ("rewriter.cli.look", "code = needed(target.bundling, 'bench', target, name)"),
        ("targets.ia64", "assert isinstance(cpu, BundledCpu)"),
        ("rewriter.core.x", "class A(Protocol):\n    words: NDArray[Any]"),
        ("rewriter.core.x", "class A:\n    words: Any"),
    ],
)
def test_a_good_module_is_quiet(module: str, source: str) -> None:
    """What the design allows is not held against it."""
    assert not violations(module, source)
