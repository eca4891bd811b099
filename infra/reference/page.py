"""The page of /docs: the reference in one file, made from the OpenAPI document."""

import base64
import hashlib
from html import escape
from typing import Any

from infra.reference import HERE
from infra.reference.examples import Example, examples_of
from infra.reference.fields import Fields, shown_name
from infra.reference.page_parts import (
    curl_block,
    json_block,
    render_authentication,
    render_errors,
    render_first_steps,
    render_prose,
)

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{style_hash}'; \
script-src '{script_hash}'; base-uri 'none'; form-action 'none'">
<title>{title}: reference</title>
<style>{style}</style>
<header><b>{title}</b><input type="search" placeholder="Search: a field, a path, an error ( / )" aria-label="Search">\
<span id="found" role="status"></span></header>
<div class="frame">
<nav aria-label="Contents">{contents}</nav>
<main>{body}</main>
</div>
<script>{script}</script>
</html>
"""


def render_page(document: dict[str, Any]) -> str:
    """Return the page: first steps, authentication, endpoints, objects, errors."""
    fields = Fields(document)
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    body = [
        f"<h1>{escape(document['info']['title'])}</h1>",
        "".join(f"<p>{render_prose(part)}</p>" for part in document["info"]["description"].split("\n\n")),
        render_first_steps(),
        render_authentication(document),
        *(_render_tag(document, fields, tag, about) for tag, about in tags.items()),
        _render_objects(fields),
        render_errors(),
    ]
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return PAGE.format(
        title=escape(document["info"]["title"]),
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        contents=_render_contents(document, tags),
        body="".join(body),
    )


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _operations(document: dict[str, Any], tag: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation["tags"] == [tag]
    ]


def _render_contents(document: dict[str, Any], tags: dict[str, str]) -> str:
    parts = ['<h2>Start</h2><a href="#start">A card payment, and half of it back</a><a href="#auth">Authentication</a>']
    for tag in tags:
        parts.append(f"<h2>{tag.capitalize()}</h2>")
        parts += [
            f'<a href="#{operation["operationId"]}">{_render_method(method)} {_breakable(path[7:])}</a>'
            for method, path, operation in _operations(document, tag)
        ]
    return "".join((*parts, '<h2>More</h2><a href="#objects">Objects</a><a href="#errors">Errors</a>'))


def _render_method(method: str) -> str:
    return f'<span class="method {method}">{method}</span>'


def _breakable(path: str) -> str:
    return escape(path).replace("/", "/<wbr>")


def _render_tag(document: dict[str, Any], fields: Fields, tag: str, about: str) -> str:
    endpoints = "".join(
        _render_endpoint(fields, method, path, operation) for method, path, operation in _operations(document, tag)
    )
    return f'<h2 id="{tag}">{tag.capitalize()}</h2><p>{render_prose(about)}</p>{endpoints}'


def _render_endpoint(fields: Fields, method: str, path: str, operation: dict[str, Any]) -> str:
    public = "" if operation["security"] else ' <span class="public">no credential</span>'
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    refusals = ", ".join(status for status in operation["responses"] if status != "200")
    parts = [
        f'<section data-find="{operation["tags"][0]}" id="{operation["operationId"]}">',
        f"<h3>{_render_method(method)} <code>{escape(path)}</code>{public}</h3>",
        f"<p>{render_prose(operation['summary'])} {render_prose(operation.get('description', ''))}</p>",
        *(_render_example(one) for one in examples_of(f"{method} {path}")),
        f"<h4>Path, query and headers</h4>{fields.parameters(operation['parameters'])}"
        if operation["parameters"]
        else "",
        f"<details><summary>Request fields</summary>{fields.table(body)}</details>" if body else "",
        f"<details><summary>Answer fields</summary>{fields.table(answer)}</details>",
        f'<p>Refusals: {refusals}; see <a href="#errors">Errors</a>.</p></section>',
    ]
    return "".join(parts)


def _render_example(example: Example) -> str:
    refused = f' <span class="bad">{example.status}, ErrorCode {example.code}</span>' if example.code else ""
    answer = f"<h4>Answer</h4>{json_block(example.answer)}" if example.answer else ""
    return (
        f"<details><summary>{render_prose(example.summary)}{refused}</summary>{curl_block(example)}{answer}</details>"
    )


def _render_objects(fields: Fields) -> str:
    parts = [
        f'<section data-find="objects" id="{name}"><h3>{shown_name(name)}</h3>'
        f"<p>{render_prose(schema.get('description', ''))}</p>{fields.rows(name)}</section>"
        for name, schema in fields.shared()
    ]
    return f'<h2 id="objects">Objects</h2><p>Objects that several endpoints use.</p>{"".join(parts)}'
