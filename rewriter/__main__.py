"""The `retune` command as a process of its own; `python -m rewriter` is the same."""

from __future__ import annotations

from rewriter.core.run import interrupts


def run() -> None:
    """Runs the command line of the process; an interrupt at any moment ends it with one line."""
    interrupts.catch()
    try:
        from rewriter.cli import main

        main(prog_name="retune")
    except interrupts.Interrupted as interrupted:
        interrupts.end_at_once(interrupted.number)
    except SystemExit as ended:
        interrupts.ignore()
        if isinstance(ended.code, int):
            interrupts.end(ended.code)
        raise
    finally:
        interrupts.ignore()


if __name__ == "__main__":
    run()
