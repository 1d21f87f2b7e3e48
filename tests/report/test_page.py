"""The page in a browser: charts, tables, listings, and names that are markup elsewhere."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.report.html.archive import Row, archive
from tests.report.conftest import HOSTILE, Browser, Page

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
COUNT = "document.querySelector('[data-table=\"{}\"] .count').textContent"
CELLS = (
    "Array.from(document.querySelectorAll('[data-table=\"{}\"] tbody tr'),"
    " (row) => Array.from(row.cells, (cell) => cell.textContent))"
)


def type_into(browser: Browser, table: str, words: str) -> None:
    """Fills the filter of a table as a user does."""
    browser.do(
        f"const box = document.querySelector('[data-table=\"{table}\"] input');"
        f"box.value = {words!r}; box.dispatchEvent(new Event('input'));"
    )


def sort_by(browser: Browser, table: str, label: str) -> None:
    """Presses the head of a column."""
    browser.do(
        f"Array.from(document.querySelectorAll('[data-table=\"{table}\"] th button'))"
        f".find((head) => head.textContent === {label!r}).click();"
    )


@pytest.mark.parametrize(
    ("width", "theme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_it_opens_quietly_and_fits(
    browser: Browser, sample_page: Page, width: int, theme: str
) -> None:
    browser.open(sample_page.url, width, theme)
    assert browser.ask(FITS)
    assert browser.ask("performance.getEntriesByType('resource').length") == 0
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 380) == (theme == "dark")
    assert browser.said() == []


def test_charts_show_what_was_done(browser: Browser, sample_page: Page) -> None:
    tuned = sample_page.run.tuned
    assert tuned is not None
    browser.open(sample_page.url)
    titles = browser.ask(
        "Array.from(document.querySelectorAll('#map title'), (title) => title.textContent)"
    )
    edits = sum(int(re.search(r": ([\d,]+) edits", title)[1].replace(",", "")) for title in titles)
    assert edits == len(tuned.edits)
    assert browser.ask("document.querySelectorAll('#stalls tbody tr').length") > 2
    hot = browser.ask(
        "Array.from(document.querySelectorAll('#hot tbody th'), (h) => h.textContent)"
    )
    assert hot == ["sample_base64", "sample_checksum", "sample_copy"]
    shares = browser.ask("Array.from(document.querySelectorAll('#hot td.n'), (h) => h.textContent)")
    assert shares[0] == "60.0 %"


def test_each_replaced_routine_has_its_curves(browser: Browser, routines_page: Page) -> None:
    tuned = routines_page.run.tuned
    assert tuned is not None
    browser.open(routines_page.url)
    routines = [edit for edit in tuned.edits if edit.technique == "substitute"]
    assert routines
    assert browser.ask("document.querySelectorAll('.curve polyline').length") == 2 * len(routines)


def test_tables_sort_filter_and_turn(browser: Browser, sample_page: Page) -> None:
    tuned = sample_page.run.tuned
    assert tuned is not None
    browser.open(sample_page.url)
    every = len(tuned.edits)
    assert every > 50  # more than a page
    assert browser.ask(COUNT.format("edits")) == str(every)
    assert len(browser.ask(CELLS.format("edits"))) == 50
    browser.do('document.querySelector(\'[data-table="edits"] [aria-label^="Next"]\').click()')
    assert len(browser.ask(CELLS.format("edits"))) == min(50, every - 50)
    sort_by(browser, "edits", "saved")
    saved = [int(row[4]) for row in browser.ask(CELLS.format("edits"))]
    assert saved == sorted((edit.gain for edit in tuned.edits), reverse=True)[:50]
    sort_by(browser, "edits", "saved")
    saved = [int(row[4]) for row in browser.ask(CELLS.format("edits"))]
    assert saved == sorted(edit.gain for edit in tuned.edits)[:50]
    type_into(browser, "edits", "BASE64 byte")
    wanted = [e for e in tuned.edits if "base64" in e.id and "byte" in f"{e.id} {e.kind}"]
    assert browser.ask(COUNT.format("edits")) == f"{len(wanted)} of {every}"
    type_into(browser, "edits", "no such thing")
    assert browser.ask(CELLS.format("edits")) == [["No edit."]]
    type_into(browser, "edits", "")
    browser.do(
        "const menu = document.querySelector('[data-table=\"edits\"] select');"
        "menu.selectedIndex = 1; menu.dispatchEvent(new Event('change'));"
    )
    ((_, most),) = Counter(edit.technique for edit in tuned.edits).most_common(1)
    assert browser.ask(COUNT.format("edits")) == f"{most} of {every}"
    assert browser.said() == []


def disassembled(file: Path, start: int, end: int) -> list[str]:
    """The addresses of the instructions in a range, by binutils."""
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    span = (f"--start-address={start:#x}", f"--stop-address={end:#x}")
    done = subprocess.run((objdump, "-dz", *span, file), capture_output=True, text=True, check=True)
    return re.findall(r"^ +([0-9a-f]+):\t", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_function_stands_side_by_side(
    browser: Browser, sample_page: Page, width: int, tmp_path: Path
) -> None:
    """All of its instructions, as binutils finds them in both files, and its edits."""
    run = sample_page.run
    assert run.tuned is not None
    new = tmp_path / "new.so"
    new.write_bytes(run.tuned.data)
    browser.open(f"{sample_page.url}#f=1020", width)  # sample_trailing_zeros
    browser.until("document.getElementById('function').open")
    assert (
        browser.ask("document.getElementById('function-name').textContent")
        == "sample_trailing_zeros"
    )
    while browser.ask("document.querySelectorAll('#function-body tr .fold').length"):
        browser.do("document.querySelector('#function-body tr .fold').click()")
    seen = "Array.from(document.querySelectorAll('#function-body td.a{}'), (c) => c.textContent)"
    before = disassembled(inputs.require("alpha-sample"), 0x1020, 0x109C)
    after = disassembled(new, 0x1020, 0x109C)
    assert browser.ask(seen.format(".r")) == after
    if width > 1000:
        assert browser.ask(seen.format(".l")) == before
    else:
        assert set(browser.ask(seen.format(".l"))) < set(before)
    edits = [edit for edit in run.tuned.edits if edit.routine == "sample_trailing_zeros"]
    assert browser.ask("document.querySelectorAll('#function-body .edit').length") == len(edits)
    bitscan = next(edit for edit in edits if edit.technique == "bitscan")
    body = browser.ask("document.getElementById('function-body').textContent")
    assert bitscan.id in body
    assert bitscan.new.split("; ")[0] in body
    browser.do("document.getElementById('next').click()")
    browser.until("document.getElementById('function-name').textContent === 'sample_escape'")
    browser.do("document.getElementById('close').click()")
    browser.until("!location.hash")
    assert browser.said() == []


def test_names_are_text_and_no_markup(browser: Browser, hostile_page: Page) -> None:
    browser.open(hostile_page.url)
    assert browser.ask("document.getElementById('evil')") is None
    assert browser.ask("document.querySelectorAll('svg[onload], main b').length") == 0
    names = [row[0] for row in browser.ask(CELLS.format("functions"))]
    assert set(names) >= {
        "<i id=evil>!!",
        '"><svg onload=',
        "</script><b>xx\\xe9",
        "{{7*7}}&lt;\\x1b[1m",
    }
    assert len(HOSTILE) == 4
    assert browser.ask("document.querySelector('h1').textContent") == "<b>x<b>.so"
    browser.do("document.querySelector('[data-table=\"functions\"] tbody a').click()")
    browser.until("document.getElementById('function').open")
    assert browser.said() == []


def test_other_scripts_do_not_run(browser: Browser, sample_page: Page, tmp_path: Path) -> None:
    """The policy of the page; and the console, which is asked everywhere here, says so."""
    text = sample_page.path.read_text()
    worse = tmp_path / "worse.html"
    worse.write_text(text.replace("</main>", "<script>window.evil = 1</script></main>"))
    browser.open(worse.as_uri())
    assert browser.ask("window.evil") is None
    (said,) = browser.said()
    assert "Content Security Policy" in said


def test_the_theme_is_switched_by_hand(browser: Browser, sample_page: Page) -> None:
    browser.open(sample_page.url)
    before = browser.ask("getComputedStyle(document.body).backgroundColor")
    browser.do("document.getElementById('theme').click()")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") != before
    browser.open(sample_page.url)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") != before, "it is kept"
    browser.do("document.getElementById('theme').click()")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == before
    browser.do("localStorage.clear()")


def test_it_can_be_used_without_seeing_it(browser: Browser, sample_page: Page) -> None:
    """What a screen reader asks: names of controls, heads of columns, one heading of the page."""
    browser.open(sample_page.url)
    nameless = (
        "Array.from(document.querySelectorAll('button, input, select, a, svg')).filter((e) =>"
        " !e.textContent.trim() && !e.getAttribute('aria-label') && !e.closest('[hidden]'))"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert browser.ask(nameless) == []
    browser.do("document.getElementById('theme').removeAttribute('aria-label');")
    browser.do("document.getElementById('theme').replaceChildren();")
    assert len(browser.ask(nameless)) == 1  # it would be found
    assert browser.ask("document.querySelectorAll('h1').length") == 1
    heads = "document.querySelectorAll('thead tr:last-child > *:not(th[scope])').length"
    assert browser.ask(heads) == 0
    assert browser.ask("document.querySelectorAll('th[aria-sort]').length") > 5


ROWS = [
    Row("lib/<script>alert(1)</script>", "alpha", "ev67", {"bytes": 3, "align": 1}, {"PROVED": 4},
        5000, 7, "patched", "", 1.5),
    Row("bin/'\"><img src=x onerror=alert(1)>", "alpha", "ev67", {"bytes": 10}, {"TESTED": 10},
        900, 30, "patched", "", 0.5),
    Row("etc/\udce9\x1b", status="refused", reason="</script><b id=evil>", bytes=1),
]  # fmt: skip


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_many_files(browser: Browser, tmp_path: Path, width: int) -> None:
    page = tmp_path / "archive.html"
    page.write_bytes(archive([*ROWS, *(Row(f"file{n}") for n in range(200))], "build <1>", "0"))
    browser.open(page.as_uri(), width)
    assert browser.ask("document.querySelector('h1').textContent") == "build <1>"
    assert browser.ask("document.querySelectorAll('img, #evil, td script').length") == 0
    rows = browser.ask(CELLS.format("files"))
    assert [row[0] for row in rows[:2]] == [ROWS[1].file, ROWS[0].file]  # most saved first
    assert (rows[0][3:6], rows[1][7]) == (["10", "30", "900"], "3 bytes, 1 align")
    type_into(browser, "files", "refused")
    ((name, *_),) = browser.ask(CELLS.format("files"))
    assert name == "etc/\\udce9\\x1b"
    figures = browser.ask("Array.from(document.querySelectorAll('.tile dd'), (d) => d.textContent)")
    assert figures[:3] == ["203", "14", "37"]
    assert browser.ask(FITS)
    assert browser.said() == []
