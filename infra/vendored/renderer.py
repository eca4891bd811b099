"""The command `make renderer`, which writes the renderer of the reference into `chalicelib/reference`.

It is OpenAPI Explorer, under the Apache licence: one file of its npm package behind the text of its licence. Every
character beyond ASCII is written as its escape, because Lambda needs twice the time for a text with others. The file is
committed, so running and deploying the service needs no npm.
"""

import re

from chalicelib.routes.pages import FOLDER, RENDERER
from infra.vendored.npm_package import Package

VERSION = RENDERER.removeprefix("openapi-explorer-").removesuffix(".js")
PACKAGE = Package(
    f"openapi-explorer@{VERSION}",
    "sha512-mHSIxkQS57/QDZtLJKZL4zmsR2HStgBI4PbrgYr/+i+Bk+HgRwdtBRN1n0uUnlHUenpyiOJAKPGleThm5rdhsA==",
)
MEMBER = "dist/browser/openapi-explorer.min.js"
SHA256 = "961a39e2c6c2bf6dad6d280004980ccb0b9369ea9f230f8b280ec31d7245f5b3"  # of the file that is written


def main() -> None:
    """Fetch the package, check it, and write the file."""
    script, licence = (content.decode() for content in PACKAGE.files(MEMBER, "LICENSE"))
    path = FOLDER / RENDERER
    path.write_text(f"/*! {PACKAGE.name}, in ASCII\n\n{licence.strip()}\n*/\n{in_ascii(script)}", encoding="ascii")
    print(f"{path.stat().st_size:>9} {path.name}")


def in_ascii(script: str) -> str:
    """Return a script with escapes in place of characters beyond ASCII. They must be in texts and patterns only."""
    return re.sub(r"[^\x00-\x7f]", _escaped, script)


def _escaped(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


if __name__ == "__main__":
    main()
