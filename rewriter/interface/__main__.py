"""`python -m retune` is the `retune` command."""

from __future__ import annotations

from rewriter.cli import main

if __name__ == "__main__":
    main(prog_name="retune")
