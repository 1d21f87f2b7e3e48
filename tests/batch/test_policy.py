"""Policies: what they choose, and what is said of one that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.batch.globs import matches
from rewriter.batch.policy import Policy, line_of, parse, read
from rewriter.core.errors import RetuneError

Run = Callable[..., Result]
GOOD = """\
# what is built for the 21264A
refused = "fail"

[alpha]
cpu = "ev67"
passes = ["bytes", "align"]

[paths]
allow = ["usr/**"]
deny = [
    "*.debug",
    "usr/lib/secret.so",
]

[functions]
deny = ["main"]
"""


def test_a_policy() -> None:
    policy = parse(GOOD, "p.toml").check()
    wanted = policy.machines["alpha"]
    assert (wanted.cpu, wanted.passes, wanted.skip_funcs) == ("ev67", "bytes,align", ("main",))
    assert policy.reason("usr/lib/a.so", None) == ""
    assert policy.reason("usr/lib/a.debug", None) == "the policy denies this path"
    assert policy.reason("etc/a.so", None) == "the policy does not allow this path"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("refused = ", "refuse = ", "p.toml:2: refuse: no such key (did you mean refused?"),
        ('"fail"', '"stop"', 'p.toml:2: refused: must be "keep" or "fail"'),
        ("cpu = ", "CPU = ", "p.toml:5: alpha.CPU: no such key"),
        ('"ev67"', '"ev99"', "p.toml:5: alpha.cpu: cpu ev99: no such CPU"),
        ('"ev67"', "67", "p.toml:5: alpha.cpu: must be a text"),
        ('"align"]', '"aline"]', "p.toml:6: alpha.passes: --passes bytes,aline: no such pass"),
        ('    "*.debug",', "    7,", "p.toml:10: paths.deny: must be a list of texts"),
        ('"main"', '"ma(in"', "p.toml:16: functions.deny:"),
        (
            "[paths]",
            "[options]\nmin_gain = true\n[paths]",
            "p.toml:9: options.min_gain: must be a number from 0 to 100",
        ),
        ("[paths]", "[path]", "p.toml:8: path: no such key (did you mean paths?"),
        ("[functions]", "functions = 1\n[x]", "p.toml:8: paths.functions: no such key"),
        ('["main"]', '["main"', "p.toml: not TOML: "),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(RetuneError) as raised:
        parse(GOOD.replace(old, new, 1), "p.toml").check()
    if "functions = 1" in new:
        assert "functions" in str(raised.value) and "p.toml:1" in str(raised.value)
    else:
        assert said in str(raised.value)
    assert "\n" not in str(raised.value) or "not TOML" in said


KEYS = st.from_regex(r"[a-z]{1,3}", fullmatch=True)
VALUES = st.one_of(
    st.integers().map(str),
    st.sampled_from(['"a = 1"', '"""\n[x]\na = 1\n"""', "[\n  1, # [y]\n  2,\n]", "'#'"]),
)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6, unique_by=lambda pair: pair[0]),
    st.data(),
)
def test_the_line_of_a_key(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    """Whatever stands before it: values of many lines, comments, empty lines."""
    wanted = data.draw(st.sampled_from([key for key, _ in pairs]))
    text, line = "# first\n[t]\n", 0
    for key, value in pairs:
        text += data.draw(st.sampled_from(["", "\n", "# a = 1\n"]))
        if key == wanted:
            line = text.count("\n") + 1
        text += f"{key} = {value}\n"
    assert line_of(text, ("t", wanted)) == line


def test_a_long_policy_with_a_long_value() -> None:
    """Found by halves: thousands of lines take no longer than a second or two."""
    values = "".join("  'a',\n" for _ in range(4000))
    text = f"[paths]\nallow = [\n{values}]\n\n[path]\n"
    assert line_of(text, ("path",)) == 4005
    with pytest.raises(RetuneError, match=r"p\.toml:4005: path: no such key"):
        parse(text, "p.toml")
    with pytest.raises(RetuneError, match="too long"):
        parse(text * 9, "p.toml")


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    """A policy or one error, never anything else."""
    try:
        parse(text, "p.toml")
    except RetuneError as error:
        assert str(error).startswith("p.toml:")


def test_the_command_line_comes_first(tree: Path, tmp_path: Path, run_cli: Run) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(GOOD.replace('"usr/**"', '"usr/lib/**"'), encoding="utf-8")
    chosen = read(policy).overridden(["ev6"], passes="bytes", debug=None).check()
    assert chosen.machines["alpha"].cpu == "ev6"
    assert chosen.machines["alpha"].passes == "bytes"
    assert chosen.machines["alpha"].skip_funcs == ("main",)
    # One of the file's two names is not allowed, so the file stays as it is.
    result = run_cli("batch", tree, "--in-place", "--policy", policy)
    assert result.exit_code == 4
    assert "left alone: 1 file: the policy does not allow this path" in result.stdout


def test_two_cpus_of_one_machine_are_one_error(tree: Path, tmp_path: Path, run_cli: Run) -> None:
    """Which one was meant nobody knows; names of the same CPU, and one of each machine, will do."""
    result = run_cli("batch", tree, "--in-place", "--cpu", "power9", "--cpu", "7450")
    assert result.exit_code == 2
    said = "retune: --cpu power9 and --cpu 7450: both are CPUs of ppc (one for each kind of machine"
    assert result.stderr.startswith(said) and result.stderr.count("\n") == 1
    found = Policy().overridden(["ev6", "EV6", "power9", "madison", "POWER9"]).machines
    assert {name: one.cpu for name, one in found.items()} == {
        "alpha": "ev6", "ppc": "power9", "ia64": "madison",
    }  # fmt: skip


def test_packages(tree: Path, run_cli: Run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[alpha]\ncpu = "ev67"\n[packages]\ndeny = ["lib*-dbg"]\n', encoding="utf-8")
    found = read(policy)
    assert found.reason("a", "libz-dbg") == "the policy denies this package"
    assert found.reason("a", "libz") == found.reason("a", None) == ""
    result = run_cli("batch", tree, "--in-place", "--policy", policy, "--package", "libz-dbg", "-q")
    assert result.exit_code == 4


def test_no_cpu_for_a_machine() -> None:
    with pytest.raises(RetuneError, match="no CPU is chosen"):
        Policy().check()


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.so", "usr/lib/a.so", True),
        ("*.so", "usr/lib/a.so.1", False),
        ("usr/*.so", "usr/lib/a.so", False),
        ("usr/**/*.so", "usr/a.so", True),
        ("usr/**/*.so", "usr/lib/x/a.so", True),
        ("usr/**", "usr/lib/a.so", True),
        ("/usr/**", "usr/lib/a.so", True),
        ("usr/**", "us/r", False),
        ("lib[ab].so", "x/liba.so", True),
        ("lib[!ab].so", "x/liba.so", False),
        ("lib?.so", "lib/.so", False),
        ("a[", "a[", True),
        ("a.so", "abso", False),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert matches(path, [pattern]) is fits


@settings(max_examples=200)
@given(st.text(max_size=12), st.text(max_size=12))
def test_any_pattern(pattern: str, path: str) -> None:
    """No pattern is an error, and one without special characters matches itself alone."""
    found = matches(path, [pattern])
    if not set(pattern) & set("*?[/") and "/" not in path:
        assert found is (pattern == path)
