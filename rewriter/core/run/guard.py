"""One function's trouble stays that function's: it is left alone, and the report says why.

Work on one function runs under `guarded`.  An exception that nobody foresaw there is an error in
retune; it becomes a reason, in which the step and the exception are named, and all other functions
go on.  What the user can act on (`RetuneError`) and what ends the process passes through, but for
what was seen only when the function was looked at, damage (`BadInput`) and what cannot be followed
(`CannotMove`): these are reasons in their own words.

Reasons would hide errors from the tests, so these run under `strict`, where an unforeseen exception
is raised as it is.  Processes that share the work are copies and inherit it.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from rewriter.core.errors import BadInput, RetuneError
from rewriter.core.target.protocol import CannotMove

_Result = TypeVar("_Result")
_Otherwise = TypeVar("_Otherwise")

INTERNAL = "internal error in "
"""How each reason begins that is an error in retune."""

TRACEBACK = "RETUNE_TRACEBACK"
"""The environment variable with which an unforeseen exception shows where it happened."""

_strict: ContextVar[bool] = ContextVar("strict", default=False)


@contextmanager
def strict(raises: bool = True) -> Iterator[None]:
    """As long as this lasts an unforeseen exception is raised and no function's own affair.

    With `raises` false it is again, inside of another one.
    """
    before = _strict.set(raises)
    try:
        yield
    finally:
        _strict.reset(before)


def is_strict() -> bool:
    """Whether an unforeseen exception is to be raised."""
    return _strict.get()


def guarded(
    step: str, work: Callable[[], _Result], otherwise: Callable[[str], _Otherwise]
) -> _Result | _Otherwise:
    """What `work` gives, or what `otherwise` makes of the reason why it gives nothing."""
    try:
        return work()
    except (BadInput, CannotMove) as refusal:
        return otherwise(str(refusal))
    except (RetuneError, MemoryError):
        raise
    except Exception as error:
        if _strict.get():
            raise
        show_traceback(error)
        return otherwise(reason(step, error))


def show_traceback(error: Exception) -> None:
    """Writes to standard error how an exception came about, where the environment asks for it."""
    if os.environ.get(TRACEBACK):
        with suppress(OSError, ValueError):
            sys.stderr.write("".join(traceback.format_exception(error)))
            sys.stderr.flush()


def reason(step: str, error: Exception) -> str:
    """An unforeseen exception in one line, as a reason."""
    said = " ".join(str(error).split())[:_LONGEST]
    kind = type(error).__name__
    return f"{INTERNAL}{step}: {kind}: {said}" if said else f"{INTERNAL}{step}: {kind}"


_LONGEST = 200
"""Characters of an exception's own words."""
