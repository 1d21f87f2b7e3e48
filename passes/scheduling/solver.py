"""OR-Tools CP-SAT, loaded without pandas, which only its methods for whole tables need.

Pandas takes twice as long to load as all the rest, and twice the memory.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_TABLES = "pandas"


@cache
def solver() -> Any:
    """The module `cp_model`, a copy of our own: who imports it gets another one, with tables.

    Copies of a process that has it share its memory.
    """
    from ortools.sat import python as folder

    found = find_spec(f"{folder.__name__}.cp_model")
    assert found is not None and found.loader is not None, "OR-Tools has it"
    module, there = module_from_spec(found), _TABLES in sys.modules
    sys.modules.setdefault(_TABLES, _NoTables(_TABLES))
    try:
        found.loader.exec_module(module)
    finally:
        if not there:
            del sys.modules[_TABLES]
    return module


class _NoTables(ModuleType):
    """Has the names of classes of which there is no object."""

    def __getattr__(self, name: str) -> type:
        return type(name, (), {})
