"""Prose is plain English: sentences of at most 30 words, without the constructions that make a reader read twice.

textlint 15 was tried on these documents. It needs 191 packages (56 MB) and reads neither docstrings nor comments. Its
sentence-length counts characters, and write-good reports passives and adverbs but none of these constructions: each of
them would be a rule of our own in a second language. This module needs nothing and reads all three kinds of text.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from infra.reference import ROOT

LONGEST = 30  # words of a sentence
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef
BEFORE_WHO = "of|for|to|by|from|with|and|or|than|on|but|see|ask|asks|says?|knows?|tells?"
# Each construction with the plain way to write it.
CONSTRUCTIONS = {
    "a clause for a noun": (
        rf"\bwhat(?:ever)?\s+(?!if\b|to do\b)\w|\bwho(?:m?ever)\b|(?:^|\b(?:{BEFORE_WHO})\s+)whom?\b",
        "name the noun: 'the stored answer', not 'what was stored'; 'the caller', not 'who asks'",
    ),
    "told": (r"\b(?:is|are|was|were|be|been|gets?|being) told\b", "returns, reports, receives"),
    "an old word": (r"\b(?:anew|beside|thereby|therein|herein|hitherto|lest|whence|aught)\b", "again, with, next to"),
    "alone for only": (r"\b\w+ alone\b", "'only the owner', not 'the owner alone'"),
    "made of": (r"\b(?:generated|made) of\b|\bc(?:ome|ame|omes) to\b(?! be)", "made from, reaches, results in"),
    "no more": (r"\bis no more\b|\bnot either\b|,\s+too\b", "no longer, also"),
}
TOO_LONG = "too long"
# A title that people search for, and a message that contract and clients know.
ALLOWED = {"What this service does not do", "The amount exceeds what remains of the payment."}


def documents() -> Iterator[tuple[str, str]]:
    """Yield the paragraphs and cells of the documents without code, links and headings' marks."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"```.*?```|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block in re.split(r"\n\s*\n|\n(?=\s*(?:[|#>*-]|\d+\.) ?)|(?<=[^|\n]) \| ", text):
            yield str(path.relative_to(ROOT)), re.sub(r"^[\s|#>*-]+|[*|]", "", block)


def code() -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of docstrings, and the comments, of chalicelib and infra."""
    for path in [*ROOT.glob("chalicelib/**/*.py"), *ROOT.glob("infra/**/*.py")]:
        name, source = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, DOCUMENTED):
                yield from ((name, part) for part in re.split(r"\n\s*\n|\n- ", ast.get_docstring(node) or ""))
        yield from ((name, block) for block in comments(source))


def messages() -> Iterator[tuple[str, str]]:
    """Yield the texts of chalicelib and infra that people read: errors, output of commands, the reference."""
    for path in [*ROOT.glob("chalicelib/**/*.py"), *ROOT.glob("infra/**/*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, DOCUMENTED)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
                yield str(path.relative_to(ROOT)), "" if "<html" in node.value else node.value
    for path in ROOT.glob("infra/**/*.json"):
        if path.name != "answers.json":
            yield from ((path.name, text) for text in texts_in(json.loads(path.read_text(encoding="utf-8"))))


def texts_in(content: Any) -> Iterator[str]:
    """Yield the texts of a JSON document, except lists of words to search for."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from texts_in(value) if name != "words" else ()
    elif isinstance(content, list):
        for value in content:
            yield from texts_in(value)


def comments(source: str) -> list[str]:
    """Return the comments of a module, those on successive lines as one."""
    blocks: list[str] = []
    end = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            words = re.sub(r"noqa: [A-Z0-9, ]+", "", token.string.lstrip("# "))
            if token.start == end:
                blocks[-1] += f" {words}"
            else:
                blocks.append(words)
            end = (token.start[0] + 1, token.start[1])
    return blocks


def page() -> Iterator[tuple[str, str]]:
    """Yield the English words of the pages, and the comments of their modules."""
    folder = ROOT / "chalicelib" / "pages"
    for path in sorted(folder.glob("*/texts/en.js")):
        for quoted in re.findall(r"\"([^\"\n]+)\"|`([^`]+)`", path.read_text(encoding="utf-8")):
            yield str(path.relative_to(folder)), re.sub(r"\$\{[^}]*\}", "x", "".join(quoted))
    for path in sorted(folder.rglob("*.js")):
        for block in re.findall(r"(?m)^ *// (.+(?:\n *// .+)*)", path.read_text(encoding="utf-8")):
            yield str(path.relative_to(folder)), re.sub(r"\n *// ", " ", block)


def make() -> Iterator[tuple[str, str]]:
    """Yield the comments and the help of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for block in re.findall(r"(?m)(?:^|  )##? (.+(?:\n# .+)*)", text):
        yield "Makefile", block.replace("\n# ", " ")


TEXTS = {"documents": documents, "code": code, "messages": messages, "the page": page, "make": make}


def findings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each finding in a text, and its words."""
    plain = re.sub(r"`[^`]*`", "x", re.sub(r"\]\([^)]*\)", "", text))
    for sentence in re.split(r"(?<=[.?!:])[*\")]*\s+", " ".join(plain.split())):
        if len(sentence.split()) > LONGEST:
            yield TOO_LONG, sentence
        for kind, (pattern, _) in CONSTRUCTIONS.items():
            if not (kind == "a clause for a noun" and (sentence.endswith("?") or sentence in ALLOWED)):
                yield from ((kind, sentence) for _ in re.finditer(pattern, sentence, re.IGNORECASE))


@cache
def findings_in(texts: str) -> list[tuple[str, str, str]]:
    return [(kind, name, words) for name, text in TEXTS[texts]() for kind, words in findings(text)]


@pytest.mark.parametrize("kind", [TOO_LONG, *CONSTRUCTIONS])
@pytest.mark.parametrize("texts", TEXTS)
def test_prose_has_no_riddles(texts: str, kind: str) -> None:
    found = [f"{name}: {words}" for one, name, words in findings_in(texts) if one == kind]
    plainly = CONSTRUCTIONS.get(kind, ("", f"at most {LONGEST} words, one idea a sentence"))[1]

    assert found == [], f"{kind}; plainly: {plainly}"


@pytest.mark.parametrize(
    ("riddle", "kind", "plain"),
    [
        ("What was stored so is read now.", "a clause for a noun", "Such records can be read again."),
        ("Each process of those that ask is told of it.", "told", "Each caller receives it."),
        ("A message is sent anew.", "an old word", "A message is sent again."),
        ("Its owner alone pays.", "alone for only", "Only its owner pays."),
        ("The document is generated of the code.", "made of", "The document is generated from the code."),
        ("The record is no more read.", "no more", "The record is ignored."),
        (f"One {'and one ' * 15}.", TOO_LONG, "One and one."),
    ],
)
def test_a_riddle_is_found_and_its_plain_wording_is_not(riddle: str, kind: str, plain: str) -> None:
    assert kind in {one for one, _ in findings(riddle)}
    assert not list(findings(plain))


def test_a_question_and_a_noun_with_its_clause_are_plain() -> None:
    assert not list(findings("What happens to a caller who is blocked? Nothing."))
