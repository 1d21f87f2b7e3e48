"""Each pass has a sentence and a colour that is read on a page of either theme."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from passes import ORDER
from rewriter.report.html import words
from rewriter.report.html.words import LOOKS, PLUGGED_IN
from tests.report.conftest import Browser, Page

CSS = Path(words.__file__).parent / "templates" / "page.css"
LEAST = 4.5
"""Contrast of text to what is behind it (WCAG 2.1, level AA)."""
MADE = """document.body.insertAdjacentHTML('beforeend',
  '<span class="pass pass-{0}"></span><b class="fill-{0}"></b>')"""


def background(name: str) -> tuple[str, str]:
    """A colour of the page, light and dark."""
    found = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", CSS.read_text())
    assert found is not None
    return found[1], found[2]


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2.1, contrast ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_black_is_seen() -> None:
    assert contrast("#000000", background("card")[1]) < LEAST
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_every_pass_has_words() -> None:
    assert list(LOOKS) == [one.name for one in ORDER]
    assert all(re.fullmatch(r"[A-Z].{20,90}\.", look.sentence) for look in LOOKS.values())


@pytest.mark.parametrize("name", [one.name for one in ORDER] + ["of another package"])
def test_every_pass_has_a_colour_in_both_themes(name: str) -> None:
    look = LOOKS.get(name, PLUGGED_IN)
    for surface in ("paper", "card"):
        light, dark = background(surface)
        assert contrast(look.light, light) >= LEAST
        assert contrast(look.dark, dark) >= LEAST


def test_no_two_passes_look_alike() -> None:
    for one, other in combinations(LOOKS.values(), 2):
        assert one.light != other.light and one.dark != other.dark


@pytest.mark.parametrize(("theme", "at"), [("light", 0), ("dark", 1)])
def test_a_browser_shows_them(browser: Browser, sample_page: Page, theme: str, at: int) -> None:
    """The colours of the table, as text and as an area; a pass of others has one too."""
    browser.open(sample_page.url, theme=theme)
    for name in [*LOOKS, "unheard-of"]:
        browser.do(MADE.format(name))
        look = LOOKS.get(name, PLUGGED_IN)
        wanted = (look.light, look.dark)[at]
        parts = [int(wanted[n : n + 2], 16) for n in (1, 3, 5)]
        for rule in (f"('.pass-{name}')).color", f"('.fill-{name}')).backgroundColor"):
            shown = browser.ask(f"getComputedStyle(document.querySelector{rule}")
            assert list(map(int, re.findall(r"\d+", shown)[:3])) == parts, (name, rule)
