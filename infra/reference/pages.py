"""The pages of /docs: the frame of the reference, which a vendored renderer fills, and the guides from docs/."""

import itertools
import json
import re
from collections.abc import Iterator
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from chalicelib.routes.pages import GUIDES, RENDERER
from infra.local.stage import URL
from infra.reference import HERE, ROOT, read_json

REFERENCE = """<section class="unseen" aria-label="Reference"><h1>Reference</h1></section>
<div id="reference"></div>
<noscript><p>The reference needs JavaScript. The guides above do not, nor does the
<a href="api/v1/openapi.json">OpenAPI document</a>.</p></noscript>
{renderer}"""
ORIGIN = f'<span class="origin">{URL}</span>'
TRANSITION = re.compile(r"^ +(\S+) --> (\S+): (.+)$", re.MULTILINE)
STATE_NAME = re.compile(r'^ +state "(.+)" as (\w+)$', re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the content of every page, and the list of guides for the reference, by file name."""
    renderer = "\n".join(f'<script src="docs/{name}"></script>' for name in RENDERER)
    files = {"index.html": _page("Reference", REFERENCE.format(renderer=renderer), current="docs", folder="docs/")}
    for name in GUIDES:
        title = guide_title(name)
        files[f"{name}.html"] = _page(title, f'<main class="guide">{guide(name)}</main>', current=name, folder="")
    abouts = read_json("guides.json")
    listed = [{"name": name, "title": guide_title(name), "about": abouts[name]["about"]} for name in GUIDES]
    return files | {"guides.json": json.dumps(listed, indent=2) + "\n"}


def _page(title: str, body: str, *, current: str, folder: str) -> str:
    """Return a page; `folder` leads from the page's address to the folder of the guides."""
    addresses = {"docs": "docs" if folder else "../docs", **{name: folder + name for name in GUIDES}}
    texts = {"docs": "Reference", **{name: read_json("guides.json")[name]["link"] for name in GUIDES}}
    links = "".join(
        f'<a href="{address}"{" aria-current=page" if name == current else ""}>{escape(texts[name])}</a>'
        for name, address in addresses.items()
    )
    frame = (HERE / "page.html").read_text(encoding="utf-8")
    return frame.format(title=escape(title), folder=folder, links=links, body=body)


def _source(name: str) -> str:
    """Return the Markdown of a guide, without the comment of the generator."""
    return re.sub(r"^<!--.*?-->\n", "", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))


def guide_title(name: str) -> str:
    """Return the title of a guide: its first heading."""
    return _source(name).partition("\n")[0].removeprefix("# ")


def guide(name: str) -> str:
    """Return a guide as HTML."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(_with_tables_for_diagrams(_source(name)))
    _name_headings(tokens)
    for token in tokens:
        if token.children:
            token.children = list(_followed(token.children))
    html: str = markdown.renderer.render(tokens, markdown.options, {})
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return html.replace("<pre>", '<pre tabindex="0">').replace(URL, ORIGIN)


def _with_tables_for_diagrams(text: str) -> str:
    """Return the text with a table in place of each state diagram, which would need a program in the browser."""
    return re.sub(r"```mermaid\n(.*?)```", lambda found: _transitions(found[1]), text, flags=re.DOTALL)


def _transitions(diagram: str) -> str:
    names = {"[*]": "(new)"} | {name: title for title, name in STATE_NAME.findall(diagram)}
    rows = [
        f"| {names.get(one, one)} | {names.get(two, two)} | {why} |" for one, two, why in TRANSITION.findall(diagram)
    ]
    return "\n".join(["| From | To | When |", "|---|---|---|", *rows])


def _name_headings(tokens: list[Token]) -> None:
    """Give each heading the anchor it has on GitHub."""
    for heading, text in itertools.pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", re.sub(r"[^\w -]", "", text.content.lower()).replace(" ", "-"))


def _followed(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens. Links to guides get the addresses of their pages; links to other documents are removed."""
    is_page = True
    for token in tokens:
        if token.type == "link_open":
            path, _, anchor = str(token.attrGet("href")).partition("#")
            is_page = not path or path.removesuffix(".md") in GUIDES
            token.attrSet("href", path.removesuffix(".md") + (f"#{anchor}" if anchor else ""))
        if is_page or not token.type.startswith("link_"):
            yield token
