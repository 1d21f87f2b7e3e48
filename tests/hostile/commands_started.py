"""The type of this folder's fixture."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Started = Callable[..., subprocess.Popen[str]]
"""Starts the command with arguments, and what `subprocess.Popen` takes besides."""
