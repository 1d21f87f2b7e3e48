"""`python -m retune` is the `retune` command."""

from __future__ import annotations

from rewriter.__main__ import run

if __name__ == "__main__":
    run()
