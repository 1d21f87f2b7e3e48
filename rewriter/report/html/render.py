"""Templates, packed data, and what a page may do: show itself, and load nothing."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
from importlib import resources
from typing import Any

import jinja2

from rewriter.report.html.words import colours


def packed(document: Any) -> str:
    """A JSON document, compressed, as text that stands in a page; the same for the same."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 9, mtime=0)).decode("ascii")


def rendered(template: str, scripts: tuple[str, ...], **given: Any) -> bytes:
    """A page from a template, with its style and scripts in it.

    The page's policy lets a browser run these scripts and no others, and fetch nothing.  Text that
    no character stands for is shown as its escape.
    """
    script = "\n".join(map(_source, scripts))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = (
        _environment()
        .get_template(template)
        .render(style=colours() + _source("page.css"), script=script, script_digest=digest, **given)
    )
    return page.encode("utf-8", "backslashreplace")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rewriter.report.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = "{:,}".format
    return environment


def _source(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
