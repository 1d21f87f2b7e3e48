"""Bounds of a kernel's tables, of which kallsyms has no names: it lists functions alone.

They are symbols like any other where a file has them.  Here they are found by the functions that go
through the tables, where the target knows these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import targets
from rewriter.core.errors import BadInput
from rewriter.elf.image import Image
from rewriter.elf.linking import Symbol
from rewriter.identify.kernel_symbols import KernelSymbol


def bounds(image: Image, functions: Iterable[Symbol]) -> Iterator[KernelSymbol]:
    """The first and the last address of each table whose bounds are known, as code names them."""
    try:
        target = targets.of(image).sequential
    except BadInput:
        return
    walked = None if target is None else target.tables.walked
    if walked is not None:
        ordered = sorted(functions, key=lambda symbol: symbol.st_bind)  # a global one hides others
        named = {s.name: range(s.st_value, s.st_value + s.st_size) for s in ordered}
        for name, where in walked.bounds(image, named).items():
            yield KernelSymbol(where.start, "D", f"__start_{name}")
            yield KernelSymbol(where.stop, "D", f"__stop_{name}")
