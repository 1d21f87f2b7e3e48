"""Results and patterns that are kept: the same bytes with them and without, damaged or not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.api.choose import Wanted
from rewriter.batch import patterns
from rewriter.batch.cache import Cache
from rewriter.batch.engine import run
from rewriter.batch.outcome import TUNED, Outcome
from rewriter.batch.policy import Policy
from rewriter.batch.pool.watch import Unwatched
from rewriter.batch.task import Job, carry_out
from rewriter.core.edit import Grade
from rewriter.core.errors import BadUsage
from rewriter.core.run.ledger import keeping
from rewriter.elf.image import parse
from rewriter.verify.terms.remembered import Decided, Memory, remembering
from tests.support.batch.killed import tree_digests
from tests.support.depth import depth

QUICK = Wanted(cpu="ev67", passes="bytes")


class Warned(Unwatched):
    """Who keeps the warnings."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def warn(self, text: str) -> None:
        """One more."""
        self.said.append(text)


def _kept(cache: Path, kind: str) -> list[Path]:
    return [path for path in sorted((cache / kind).rglob("*")) if path.is_file()]


def test_a_kept_result_is_the_same(tree: Path, tmp_path: Path, quick: Policy) -> None:
    """The second run asks no process, and the tree is the same byte for byte."""
    cache, again = tmp_path / "cache", tmp_path / "again"
    shutil.copytree(tree, again, symlinks=True)
    first = run([tree], quick, jobs=1, cache=cache)
    assert [line.how for line in first.each] == [""]
    second = run([again], quick, cache=cache, jobs=1)
    assert [line.how for line in second.each] == ["cache"] * 2
    assert tree_digests(again) == tree_digests(tree)
    assert first.each[0].figures == second.each[0].figures


@pytest.fixture(scope="module")
def tuned() -> tuple[bytes, Outcome]:
    """The sample, and what becomes of it."""
    data = inputs.require("alpha-sample").read_bytes()
    outcome = carry_out(Job(0, "sample", data, QUICK))
    assert outcome.status == TUNED
    return data, outcome


def test_other_options_are_another_result(tuned: tuple[bytes, Outcome], tmp_path: Path) -> None:
    data, outcome = tuned
    cache = Cache(tmp_path / "cache", print)
    cache.put(data, QUICK, outcome)
    assert cache.get(data, QUICK) == outcome
    for other in (Wanted(cpu="ev6", passes="bytes"), Wanted(cpu="ev67", passes="bitscan")):
        assert cache.get(data, other) is None
    assert cache.get(data + b"\0", QUICK) is None


def test_native_is_another_cpu_on_another_machine(
    tuned: tuple[bytes, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that several machines share; a policy names what this machine has."""
    (data, outcome), wanted = tuned, Wanted(cpu="ev67", tune="native", passes="bytes")
    cache, image = Cache(tmp_path / "cache", print), parse(data, "sample")
    places = set()
    for machine, cpu in (("EV56", "ev56"), ("EV67", "ev67")):
        monkeypatch.setattr("rewriter.api.host.cpu", lambda machine=machine: machine)
        assert Policy({"alpha": wanted}).check().machines["alpha"].tune == cpu
        assert cache.get(data, wanted) is None
        cache.put(data, wanted, outcome)
        assert cache.get(data, wanted) == outcome
        places.add(cache.before(image, wanted).name)
    assert len(places) == 2


def test_a_file_that_changed_a_little_is_as_if_nothing_were_kept(
    tuned: tuple[bytes, Outcome], tmp_path: Path
) -> None:
    """An instruction goes: what other functions became is asked for, and the bytes are the same."""
    data, outcome = tuned
    cache = Cache(tmp_path / "cache", print)
    image = parse(data, "sample")
    first = carry_out(Job(0, "sample", data, QUICK, before=cache.before(image, QUICK)))
    assert first.data == outcome.data and first.kept is not None
    cache.keep(*first.kept)
    start, end = image.executable_ranges()[-1]
    offset = image.offset_of(start + (end - start) // 8 * 4)
    other = data[:offset] + bytes.fromhex("1f04ff47") + data[offset + 4 :]
    before = cache.before(parse(other, "sample"), QUICK)
    assert before.results == first.kept[1]
    with keeping() as ledger:
        again = carry_out(Job(0, "sample", other, QUICK, before=before))
    assert ledger.counts["functions recalled"] > 0
    assert again.status == TUNED
    assert again.data == carry_out(Job(0, "sample", other, QUICK)).data
    assert cache.before(image, Wanted(cpu="ev6")).results == b""


def test_old_results_make_room_for_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewriter.batch.cache.MOST", 250)
    cache = Cache(tmp_path / "cache", print)
    for age, name in enumerate("abc"):
        cache.keep(name, bytes(100))
        os.utime(tmp_path / "cache" / "functions" / name, (1000 + age, 1000 + age))
    cache.keep("d", bytes(100))
    (tmp_path / "cache" / "functions" / "gone").symlink_to("nowhere")  # as what another run takes
    cache.prune()
    assert {path.name for path in _kept(tmp_path / "cache", "functions")} == {"c", "d"}


@pytest.mark.parametrize("place", [0, 70, -1], ids=["checksum", "head", "last byte"])
def test_a_damaged_result_is_not_used(
    tuned: tuple[bytes, Outcome], tmp_path: Path, place: int
) -> None:
    data, outcome = tuned
    watch = Warned()
    cache = Cache(tmp_path / "cache", watch.warn)
    cache.put(data, QUICK, outcome)
    (path,) = _kept(tmp_path / "cache", "results")
    kept = bytearray(path.read_bytes())
    kept[place] ^= 1
    path.write_bytes(kept)
    assert cache.get(data, QUICK) is None
    assert watch.said == [f"{path}: damaged, and not used"]
    cache.put(data, QUICK, outcome)
    assert cache.get(data, QUICK) == outcome


def test_a_result_of_another_file_is_not_believed(
    tuned: tuple[bytes, Outcome], tmp_path: Path
) -> None:
    """Whole, with the right checksum, in the wrong place: its manifest leads elsewhere."""
    data, outcome = tuned
    other, watch = data + b"\0", Warned()
    cache = Cache(tmp_path / "cache", watch.warn)
    cache.put(other, QUICK, outcome)
    assert cache.get(other, QUICK) is None
    assert len(watch.said) == 1


def test_a_folder_that_is_open_to_everybody(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(BadUsage, match="everybody"):
        Cache(folder, print)


@pytest.mark.parametrize("name", ["patterns", "functions", "results", "results/ab"])
def test_a_folder_in_it_that_is_open_to_everybody(name: str, tmp_path: Path) -> None:
    inner = tmp_path / "cache" / name
    inner.mkdir(parents=True)
    Cache(tmp_path / "cache", print)
    inner.chmod(0o757)
    with pytest.raises(BadUsage, match=f"cache/{name}: everybody"):
        Cache(tmp_path / "cache", print)


def test_its_own_folders_are_open_to_nobody(tmp_path: Path) -> None:
    """Also where the umask lets everybody write."""
    before = os.umask(0)
    try:
        cache = Cache(tmp_path / "new" / "cache", print)
        cache.keep("a", b"data")
    finally:
        os.umask(before)
    assert Cache(tmp_path / "new" / "cache", print).folder.stat().st_mode & 0o022 == 0
    assert (tmp_path / "new").stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("kind", ["functions", "patterns", "results"])
def test_a_fifo_is_no_result(kind: str, tuned: tuple[bytes, Outcome], tmp_path: Path) -> None:
    """Nobody waits for who writes into it, and a result takes its place."""
    (data, outcome), cache = tuned, Cache(tmp_path / "cache", print)
    image, memory = parse(data, "sample"), Memory()

    def put() -> None:
        cache.put(data, QUICK, outcome)
        cache.keep(cache.before(image, QUICK).name, b"RTR1")
        cache.remember(memory)

    put()
    (path,) = _kept(tmp_path / "cache", kind)
    path.unlink()
    os.mkfifo(path)
    found = cache.get(data, QUICK), cache.before(image, QUICK).results, cache.remembered().decided
    assert found == (outcome if kind != "results" else None, b"RTR1" * (kind != "functions"), {})
    put()
    assert path.is_file()


def test_warm_patterns_change_no_byte() -> None:
    """A file retuned with all patterns known, its own and another file's, and with none."""
    known, files = Memory(), (("alpha-sample", None), ("alpha-libgcc_s", "bytes,bitscan"))
    for name, passes in files[: depth(1, 2)]:
        data, memory = inputs.require(name).read_bytes(), Memory()
        job = Job(0, name, data, Wanted(cpu="ev67", passes=passes))
        with remembering(memory):
            cold = carry_out(job)
        assert cold.status == TUNED
        learned = memory.news()
        assert sum(map(len, learned.values())) > 10
        known.learn(patterns.parse(patterns.dump(learned)))
        with remembering(known):
            assert carry_out(job).data == cold.data
        assert not known.news()


def test_patterns_are_kept(tree: Path, tmp_path: Path) -> None:
    """They are there for the next run; damaged, they are not used and are written anew."""
    policy, cache = Policy({"alpha": QUICK}), tmp_path / "cache"
    run([tree], policy, jobs=1, cache=cache, output=tmp_path / "out")
    (path,) = _kept(cache, "patterns")
    good = path.read_bytes()
    assert patterns.parse(good)
    data = bytearray(good)
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    shutil.rmtree(cache / "results")
    shutil.rmtree(cache / "functions")
    watch = Warned()
    run([tree], policy, jobs=1, cache=cache, output=tmp_path / "again", watch=watch)
    assert watch.said == [f"{path}: damaged, and not used"]
    assert path.read_bytes() == good
    assert tree_digests(tmp_path / "again") == tree_digests(tmp_path / "out")


DECIDED = st.one_of(
    st.builds(Decided, st.just(Grade.PROVED), st.from_regex(r"[0-9a-f]{12}", fullmatch=True)),
    st.just(Decided(Grade.REFUTED)),
)
PATTERNS = st.dictionaries(
    st.sampled_from([(64, 8), (32, 4)]),
    st.dictionaries(st.binary(min_size=16, max_size=16), DECIDED, min_size=1),
)


@settings(max_examples=40)
@given(PATTERNS)
def test_patterns_as_bytes(known: dict[tuple[int, int], dict[bytes, Decided]]) -> None:
    assert patterns.parse(patterns.dump(known)) == known


@settings(max_examples=40)
@given(PATTERNS, st.data())
def test_damaged_patterns(
    known: dict[tuple[int, int], dict[bytes, Decided]], data: st.DataObject
) -> None:
    """Any changed byte, and any that is missing, is seen."""
    good = patterns.dump(known)
    at = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[at] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(bad), good[:at]):
        with pytest.raises(patterns.Damaged):
            patterns.parse(damaged)


def test_what_was_given_up_on_is_forgotten() -> None:
    """TIMEOUT is no news and is not there for the next file."""
    memory = Memory()
    proved = Decided(Grade.PROVED, "0" * 12)
    memory.of((64, 8)).update({b"a": Decided(Grade.TIMEOUT), b"b": proved})
    assert memory.news() == {(64, 8): {b"b": proved}}
    assert memory.decided == {(64, 8): {b"b": proved}}
    assert not memory.news()
    memory.learn({(64, 8): {b"c": proved}})
    assert not memory.news()
