"""How values go from process to process."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar


class Portable:
    """A frozen dataclass with slots that is pickled as the call which makes it.

    Left to itself it is taken apart and put together field by field, each looked up by its name:
    several times the work, and a whole file's regions go through it.  It has two fields or more.
    """

    __slots__ = ()
    _values: ClassVar[Callable[[Any], tuple[Any, ...]]]

    def __init_subclass__(cls) -> None:
        # Made twice: the fields are known when slots are there.
        cls._values = attrgetter(*cls.__dict__.get("__match_args__", ("__class__", "__doc__")))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), type(self)._values(self)
