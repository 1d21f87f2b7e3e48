"""`retune difftest program`: what is compared, what varies by itself, inputs, reports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewriter.difftest import corpus, program, running
from rewriter.difftest.running import Input

Run = Callable[..., Result]
Script = Callable[[str, str], Path]


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("echo one; echo two", "echo one; echo 2", "standard output, line 2: '2', not 'two'"),
        ("echo a", "printf a", "standard output, line 1: 'a (no newline)', not 'a'"),
        ("echo a", "echo a; echo b", "standard output, line 2: 'b', not '(nothing)'"),
        ("echo a", "echo a; echo b >&2", "standard error, line 1: 'b', not '(nothing)'"),
        ("exit 3", "exit 4", "it ends with status 4, the original ends with status 3"),
        ("true", "kill -SEGV $$", "it is killed by SIGSEGV, the original ends with status 0"),
        ("echo a >f", "echo b >f", "file f, line 2: 'b', not 'a'"),
        ("echo a >f", "true", "file f, line 1: '(not there)', not 'file 0644"),
        (
            "yes | head -c 99999 >f",
            "yes | head -c 99998 >f",
            "file f, line 32770: '(more, SHA-256 ",
        ),
        ("true", "mkdir d", "file d, line 1: 'folder 0755', not '(not there)'"),
        ("mkdir d; >d/e", "mkdir d; >d/e; chmod 400 d/e", "file d/e, line 1: 'file 0400"),
        ("ln -s x l", "ln -s y l", "file l, line 2: 'y (no newline)', not 'x (no newline)'"),
    ],
)
def test_what_differs(old: str, new: str, detail: str, run: Run, script: Script) -> None:
    os.umask(0o022)
    result = run("difftest", "program", script("old", old), script("new", new))
    assert result.exit_code == 1
    assert "differs: no input: " in result.stdout
    assert detail in result.stdout
    assert result.stderr.startswith(f"retune: {script('new', new)}: no input: ")
    assert detail in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "echo a; echo b >&2; echo c >f; ln -s f l; mkdir -p d/e; exit 7",
        "kill -TERM $$",
        "pwd; echo $0; env | sort; ls -la /proc/self/cwd >/dev/null",
        "mkdir d; >d/f; chmod 0 d",
        "ulimit -c >core-limit",
    ],
)
def test_the_same_program_is_the_same(text: str, run: Run, script: Script) -> None:
    """Names of folders, which a program may print, are those of both sides."""
    result = run("difftest", "program", "--json", script("old", text), script("new", text))
    document = json.loads(result.stdout)
    assert (result.exit_code, document["same"], result.stderr) == (0, True, "")
    assert document["cases"][0]["unstable"] == []
    assert document["schema"] == 1


def test_what_varies_by_itself_is_no_difference(run: Run, script: Script) -> None:
    varies = "echo begin; date +%N; cat /proc/sys/kernel/random/uuid >f; echo end"
    result = run("difftest", "program", script("old", varies), script("new", varies))
    assert result.exit_code == 0
    assert "varies by itself, not compared: standard output, file f" in result.stdout
    other = script("other", varies.replace("end", "END"))
    result = run("difftest", "program", script("old", varies), other)
    assert result.exit_code == 1
    assert "standard output, line 3: 'END', not 'end'" in result.stdout


def test_masks(run: Run, script: Script) -> None:
    old, new = script("old", "echo took 5 s at home"), script("new", "echo took 6 s at home")
    assert run("difftest", "program", old, new, "--mask", r"took (\d+) s").exit_code == 0
    assert run("difftest", "program", old, new, "--mask", r"\d+ s").exit_code == 0
    assert run("difftest", "program", old, new, "--mask", r"at (\w+)").exit_code == 1
    result = run("difftest", "program", old, new, "--mask", "(")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--mask (: not a regular expression" in result.stderr


def test_a_program_that_goes_on(run: Run, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "AT_LEAST", 0.5)
    good, bad = script("old", "echo a"), script("new", "echo a; sleep 60 & sleep 60")
    result = run("difftest", "program", good, bad, "--timeout", "0.5")
    assert result.exit_code == 1
    assert "it is still running after 0." in result.stderr
    result = run("difftest", "program", bad, good, "--timeout", "0.5")
    assert result.exit_code == 3
    assert "unusable: no input: the original is still running after 0.5 s" in result.stdout
    assert "nothing could be compared" in result.stderr


def test_a_program_that_prints_without_end(
    run: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "MOST", 1 << 16)
    result = run("difftest", "program", script("old", "echo y"), script("new", "yes"))
    assert result.exit_code == 1
    assert "it prints without end, the original ends with status 0" in result.stderr


def test_inputs_and_arguments(run: Run, script: Script, tmp_path: Path) -> None:
    folder, lines = tmp_path / "corpus", tmp_path / "args"
    folder.mkdir()
    (folder / "a").write_bytes(b"1\n")
    (folder / "b").write_bytes(b"\xff\x00")
    lines.write_text("# comment\nx 'y z'\n\nw\n")
    old = script("old", 'cat; for a in "$@"; do echo "[$a]"; done')
    new = script("new", 'cat; for a in "$@"; do [ "$a" = w ] || echo "[$a]"; done')
    options = ("--inputs", folder, "--args", lines, "--json", "-j", "2")
    result = run("difftest", "program", old, new, *options)
    cases = {c["name"]: c["verdict"] for c in json.loads(result.stdout)["cases"]}
    expected = {"a, args:2": "same", "a, args:4": "differs", "b, args:2": "same"}
    assert cases == expected | {"b, args:4": "differs"}
    assert list(cases) == sorted(cases)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(TEXT), stdin=st.binary())
def test_a_kept_input_is_read_again(words: list[str], stdin: bytes, tmp_path: Path) -> None:
    options = corpus.keep(tmp_path, "kept", Input("drawn", tuple(words), stdin)).split()
    found = dict(zip(options[::2], options[1::2], strict=True))
    lines = Path(found["--args"]) if "--args" in found else None
    (again,) = corpus.inputs(Path(found["--inputs"]), lines)
    assert (again.arguments, again.stdin) == (tuple(words), stdin)


STRATEGY = """
from hypothesis import strategies as st
argv = st.lists(st.sampled_from(["-a", "-b", "-c"]), max_size=4)
stdin = st.binary(max_size=20)
"""


def test_a_drawn_input_is_shrunk_and_kept(run: Run, script: Script, tmp_path: Path) -> None:
    strategy, save = tmp_path / "inputs.py", tmp_path / "failing"
    strategy.write_text(STRATEGY)
    old = script("old", "wc -c")
    new = script("new", '[ $# -ge 2 ] && [ "$2" = -b ] && exit 9; wc -c')
    options = ("--strategy", strategy, "--save", save, "--examples", "60")
    result = run("difftest", "program", old, new, *options)
    assert result.exit_code == 1
    assert "smallest input that fails: argv ['-a', '-b'], stdin b''" in result.stdout
    kept = next(line for line in result.stdout.splitlines() if line.startswith("kept: "))
    again = run("difftest", "program", old, new, *kept.removeprefix("kept: ").split())
    assert again.exit_code == 1
    assert "it ends with status 9" in again.stderr
    good = run("difftest", "program", old, old, *options, "--json")
    assert good.exit_code == 0
    assert len(json.loads(good.stdout)["cases"]) > 20


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("x = 1", 3, "defines neither argv nor stdin"),
        ("argv = 1", 3, "argv is no strategy of Hypothesis"),
        ("1 / 0", 3, "ZeroDivisionError: division by zero"),
        ("from hypothesis.strategies import just; argv = just([1])", 3, "which is no list of text"),
        ("from hypothesis.strategies import nothing; stdin = nothing()", 3, "inputs.py: "),
    ],
)
def test_bad_strategies(
    text: str, status: int, message: str, run: Run, script: Script, tmp_path: Path
) -> None:
    strategy, old = tmp_path / "inputs.py", script("old", "true")
    strategy.write_text(text)
    result = run("difftest", "program", old, old, "--strategy", strategy)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr


def test_without_hypothesis(
    run: Run, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis.strategies", None)
    old = script("old", "true")
    result = run("difftest", "program", old, old, "--strategy", tmp_path / "any.py")
    assert result.exit_code == 2
    assert "Hypothesis is not installed (pip install 'retune[difftest]')" in result.stderr


def test_junit(run: Run, script: Script, tmp_path: Path) -> None:
    report, lines = tmp_path / "report.xml", tmp_path / "args"
    lines.write_text("good\nbad\nslow\n")
    old = script("old", '[ "$1" = slow ] && sleep 9; echo same')
    new = script("new", '[ "$1" = bad ] && printf "\\001<&"; echo same')
    options = ("--args", lines, "--junit", report, "--timeout", "0.4")
    assert run("difftest", "program", old, new, *options).exit_code == 1
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    good, bad, slow = suite.findall("testcase")
    assert good.find("failure") is None
    failure, skipped = bad.find("failure"), slow.find("skipped")
    assert failure is not None
    assert "<&same', not 'same'" in (failure.get("message") or "")
    assert skipped is not None
    assert report.stat().st_mode & 0o111 == 0


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--with", "libc.so"), 2, "--with libc.so: is not NAME=VALUE"),
        (("--with", "a/b=c"), 2, "a/b is a path"),
        (("--with", "libc.so=none"), 3, "none: cannot be read: no such file"),
        (("--native", "--emulator", "x"), 2, "--native and --emulator exclude each other"),
        (("--emulator", "'"), 2, "No closing quotation"),
        (("--emulator", "no-such-emulator"), 1, "no-such-emulator is not installed"),
        (("--count",), 2, "--count: instructions are counted by an emulator"),
        (("--cpu", "ev67"), 2, "--cpu ev67: no emulator is used that takes it"),
        (("--inputs", "none"), 3, "none: no such folder"),
        (("--args", "none"), 3, "none: cannot be read"),
        (("--files", "none"), 3, "none: no such folder"),
        (("--env", "x"), 2, "--env x: is not NAME=VALUE"),
        (("--", "no-such-program", "{}"), 3, "no-such-program: no such program"),
        (("--", "true"), 2, "is no library with a name, and COMMAND has no {}"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_usage(
    options: tuple[str, ...], status: int, message: str, run: Run, script: Script
) -> None:
    old = script("old", "true")
    result = run("difftest", "program", old, old, *options)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_variables_and_files(run: Run, script: Script, tmp_path: Path) -> None:
    folder = tmp_path / "start"
    folder.mkdir()
    (folder / "data").write_text("a\n")
    old = script("old", "cat data; echo b >>data; echo $WHAT")
    new = script("new", "cat data; echo b >>data; echo x")
    options = ("--files", folder, "--env")
    assert run("difftest", "program", old, new, *options, "WHAT=x").exit_code == 0
    assert run("difftest", "program", old, new, *options, "WHAT=y").exit_code == 1
    assert (folder / "data").read_text() == "a\n"


def test_nothing_is_left_behind(
    run: Run, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    deep = f"for i in $(seq 30); do mkdir {'x' * 200}; cd {'x' * 200}; done"  # beyond PATH_MAX
    for text in ("mkdir -p a/b; chmod 0 a/b a; echo x >f", deep):
        old = script("old", text)
        assert run("difftest", "program", old, old, "--", "{}").exit_code == 0
    assert not list(scratch.iterdir())


def test_an_interrupt_does_not_wait(script: Script, tmp_path: Path) -> None:
    """Ctrl-C ends what runs, all of it, at once."""
    pid = tmp_path / "pid"
    old = script("old", f"echo $$ >>{pid}; sleep 60")
    command = (sys.executable, "-m", "rewriter", "difftest", "program", old, old)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not pid.is_file() or not pid.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == "retune: interrupted; nothing is half written\n"
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
