"""The errors a user can act on: what was wrong, where, and what to do; never a traceback.

Only `rewriter/cli/` turns them into text and an exit status.
"""

from __future__ import annotations


class RetuneError(Exception):
    """Base of everything that retune reports as one clear line."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class VerificationFailed(RetuneError):
    """An output is not shown equal to its original: nothing is written."""

    exit_code = 1


class BadUsage(RetuneError):
    """An option or argument that retune cannot follow."""

    exit_code = 2


class BadInput(RetuneError):
    """A file that is truncated, foreign, damaged, or not ELF at all."""

    exit_code = 3


class NothingToDo(RetuneError):
    """No edit was chosen; the output is an identical copy."""

    exit_code = 4


class EveryFileRefused(RetuneError):
    """Of many files none could be worked on: nothing was changed, and not because all is well."""

    exit_code = 5


class OutOfResources(RetuneError):
    """The system does not give what the work needs: memory, a process, room for the output."""

    exit_code = 71  # EX_OSERR of sysexits.h
