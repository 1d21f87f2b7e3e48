"""A frozen ruler: what the product makes of the real inputs, recorded once and compared again.

`.venv/bin/python benchmarks/ruler.py record FILE [NAME...] [--jobs N]` retunes each input (all of
the Alpha and IA-64 ones without names) and keeps in FILE the SHA-256 of the output without its
manifest, of the manifest's content, and of the `--json` report, with the processor's time and the
peak memory that it took.  `compare FILE` does it again: the exit status is 1 where a digest is
another one; times and memory are printed as ratios.  `--verify` also verifies each output.

A manifest's content is what `retune edits` decodes, so that its form in the file may change.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.spending import spend
from fixtures.inputs import Missing, find
from rewriter.elf import manifest

RETUNE = Path(sys.executable).with_name("retune")
CPUS = {
    "alpha-sample": "ev67",
    "alpha-libgcc_s": "ev67",
    "alpha-libm": "ev6",
    "alpha-libc": "ev67",
    "alpha-libstdc++": "ev67",
    "alpha-vmlinux": "ev67",
    "ia64-libjnidispatch": "itanium2",
    "ia64-libsigar": "itanium2",
    "ia64-libc": "itanium2",
    "ia64-vmlinux": "itanium2",
}
"""Each input and the CPU that it is retuned to, the small ones of a machine first."""

VARYING = ("retune", "format")
"""Fields of a manifest that are the tool's own."""

Mark = dict[str, Any]


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def decoded(record: manifest.Manifest) -> bytes:
    """The content of a manifest in one spelling."""
    content = dataclasses.asdict(record)
    for name in VARYING:
        del content[name]
    return json.dumps(content, sort_keys=True, default=repr).encode()


def mark(name: str, jobs: int, checked: bool) -> Mark:
    """Retunes one input and says what came out; RuntimeError when a command fails."""
    source = find(name)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / source.name
        options = ("--cpu", CPUS[name], "-j", str(jobs), "--json")
        spent = spend((RETUNE, "patch", source, "-o", out, *options))
        bare, record = manifest.detach(out.read_bytes(), name)
        if checked:
            spend((RETUNE, "verify", source, out, "-j", str(jobs)))
        return {
            "output": digest(bare),
            "manifest": digest(decoded(record)),
            "report": digest(spent.text.encode()),
            "edits": len(record.edits),
            "processor": spent.processor,
            "peak": spent.peak,
        }


def difference(now: Mark, then: Mark) -> str:
    """What is another digest than before, and what it cost against before."""
    other = [key for key in ("output", "manifest", "report") if now[key] != then[key]]
    costs = (f"{key} {now[key] / then[key]:.3f}" for key in ("processor", "peak"))
    return f"{'DIFFERENT: ' + ', '.join(other) if other else 'the same'} ({', '.join(costs)})"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CPUS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verify", action="store_true", help="verify each output too")
    options = parser.parse_args()
    kept = json.loads(options.file.read_text()) if options.file.exists() else {}
    failed = False
    for name in options.names or CPUS:
        try:
            found = mark(name, options.jobs, options.verify)
        except (Missing, RuntimeError) as problem:
            print(f"{name}: {problem}", file=sys.stderr)
            failed = True
            continue
        said = f"{found['edits']} edits, {found['processor']:.1f} s of processor"
        if options.action == "record":
            kept[name] = found
            options.file.write_text(json.dumps(kept, indent=1))
        elif name not in kept:
            said, failed = f"{said}, NOT recorded", True
        else:
            judged = difference(found, kept[name])
            said, failed = f"{said}, {judged}", failed or judged.startswith("DIFFERENT")
        print(f"{name}: {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
