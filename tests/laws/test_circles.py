"""Modules import one another in no circle: each can be read after those that it rests on.

All imports count, those inside functions and those for types alone too, with one exception:
protocols of `rewriter/core/target` name one another's types (a target has `bundling`, and what
that answers takes a target), so there an import under TYPE_CHECKING is none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.laws.test_floors import imports, modules

NAME_ONE_ANOTHER = "rewriter.core.target."


class _WithoutTypes(ast.NodeTransformer):
    """Takes away what is imported for types alone."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if for_types else self.generic_visit(node)


def rests_on(module: str, source: str, is_package: bool, known: Mapping[str, object]) -> set[str]:
    """The modules that one imports, itself left out."""
    tree: ast.AST = ast.parse(source)
    if module.startswith(NAME_ONE_ANOTHER):
        tree = _WithoutTypes().visit(tree)
    named = (name for _, name in imports(module, is_package, tree))
    found = {name if name in known else name.rpartition(".")[0] for name in named}
    return {name for name in found if name in known} - {module}


def circles(graph: Mapping[str, set[str]]) -> Iterator[str]:
    """One circle, if there is any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " -> ".join(reversed(error.args[1]))


def test_no_modules_import_one_another_in_a_circle() -> None:
    """The real source texts."""
    every = modules()
    graph = {
        module: rests_on(module, path.read_text("utf-8"), path.stem == "__init__", every)
        for module, path in every.items()
    }
    assert sum(map(len, graph.values())) > len(every)
    assert not list(circles(graph))


@pytest.mark.parametrize(
    ("one", "back", "circle"),
    [
        ("passes.one", "from passes.one import A", True),
        ("passes.one", "def f():\n    import passes.one", True),
        ("passes.one", "def f():\n    from passes import one", True),
        ("passes.one", "if TYPE_CHECKING:\n    from passes.one import A", True),
        ("rewriter.core.target.one", "from rewriter.core.target.one import A", True),
        ("rewriter.core.target.one", "if TYPE_CHECKING:\n    from . import one", False),
        ("passes.one", "from passes.three import A", False),
    ],
)
def test_a_circle_is_seen(one: str, back: str, circle: bool) -> None:
    """One module imports another, and `back` is the text of that."""
    other = one.removesuffix("one") + "two"
    known = {one: None, other: None}
    texts = {one: f"from {other} import B", other: back}
    graph = {module: rests_on(module, text, False, known) for module, text in texts.items()}
    assert bool(list(circles(graph))) is circle
