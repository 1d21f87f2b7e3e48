"""Retune existing ELF executables to the CPU that runs them, from Python.

    import retune

    patched = retune.patch("libc.so.6.1", cpu="ev67")
    Path("tuned.so").write_bytes(patched.data())
    assert retune.verify("libc.so.6.1", "tuned.so").ok
    assert retune.revert("tuned.so") == Path("libc.so.6.1").read_bytes()

`load`, `identify`, `patch`, `verify` and `revert` take a path, bytes, or what `load` returned;
`difftest` runs an original and its retuned copy and compares. Errors that a caller can act on are
`RetuneError` and below it `BadUsage`, `BadInput` and `VerificationFailed`; the text of one says
what is wrong, where, and what to do.

Names are loaded when they are first used: `import retune` alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewriter.api import difftest as difftest
    from rewriter.api.facade import Source as Source
    from rewriter.api.facade import identify as identify
    from rewriter.api.facade import load as load
    from rewriter.api.facade import patch as patch
    from rewriter.api.facade import revert as revert
    from rewriter.api.facade import verify as verify
    from rewriter.api.files import Loaded as Loaded
    from rewriter.api.patch import Patched as Patched
    from rewriter.core.errors import BadInput as BadInput
    from rewriter.core.errors import BadUsage as BadUsage
    from rewriter.core.errors import RetuneError as RetuneError
    from rewriter.core.errors import VerificationFailed as VerificationFailed
    from rewriter.report.regions import RegionSurvey as RegionSurvey
    from rewriter.report.survey import Survey as Survey
    from rewriter.report.verdict import Comparison as Comparison

    __version__: str

_HOMES = {
    **dict.fromkeys(
        ("Source", "identify", "load", "patch", "revert", "verify"), "rewriter.api.facade"
    ),
    **dict.fromkeys(
        ("BadInput", "BadUsage", "RetuneError", "VerificationFailed"), "rewriter.core.errors"
    ),
    "Comparison": "rewriter.report.verdict",
    "Loaded": "rewriter.api.files",
    "Patched": "rewriter.api.patch",
    "RegionSurvey": "rewriter.report.regions",
    "Survey": "rewriter.report.survey",
}

__all__ = [*sorted(_HOMES), "__version__", "difftest"]


if not TYPE_CHECKING:  # else every name would be one

    def __getattr__(name: str) -> Any:
        if name == "difftest":
            return import_module("rewriter.api.difftest")
        if name == "__version__":
            from rewriter.elf.manifest import version

            return version()
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __all__
