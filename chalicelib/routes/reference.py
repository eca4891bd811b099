"""The reference of the interface: the OpenAPI document and the page, as `make reference` wrote them.

They are files, because building them needs modules that would slow down every cold start.
"""

from functools import cache
from pathlib import Path

from chalicelib.web import Document

FOLDER = Path(__file__).parents[1] / "reference"


def document() -> Document:
    """Return the OpenAPI document."""
    return Document(_text("openapi.json"), "application/json")


def page() -> Document:
    """Return the page; it needs no other file and no other host."""
    return Document(_text("index.html"), "text/html; charset=utf-8")


@cache
def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
