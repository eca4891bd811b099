"""`python -m infra.vendored.renderer` writes the renderer of the reference into `chalicelib/reference`.

It is OpenAPI Explorer: one file of its npm package, in parts, because a function spends its time on the bytes of an
answer. Every character beyond ASCII is written as its escape, because a text with others takes twice the time. The
parts are committed, so running and deploying the service needs no npm.
"""

import re

from chalicelib.routes.pages import EXPLORER, FOLDER, RENDERER
from infra.vendored.npm_package import Package

PACKAGE = Package(
    EXPLORER,
    "sha512-mHSIxkQS57/QDZtLJKZL4zmsR2HStgBI4PbrgYr/+i+Bk+HgRwdtBRN1n0uUnlHUenpyiOJAKPGleThm5rdhsA==",
)
MEMBER = "dist/browser/openapi-explorer.min.js"
BEGINNING = "(()=>{var e,t,r={"  # of its code: `r` has webpack's modules by their numbers
FIRST_MODULES = (781, 784)  # of the second part, and of the third
SHA256 = (  # of the parts
    "b55d2dc36f3dd7a53ef337aef5841df95587709c9e588004fa7760299599408b",
    "1f0954e978776dd51a370bc9f3cd1a0fb6825bbc7ed69ffad2878f527be93958",
    "e4f31aa72c4370c9870f217452358a3804ee49c80a90fd7b048a2763f43170da",
)
NOTICE = """/*! {name}, part {number} of {count}, with escapes in place of characters beyond ASCII
Copyright Rhosys AG
Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0 */
"""


def main() -> None:
    """Fetch the package, check it, and write the parts."""
    (script,) = PACKAGE.files(MEMBER)
    for number, (name, part) in enumerate(zip(RENDERER, parts(in_ascii(script.decode())), strict=True), start=1):
        path = FOLDER / name
        notice = NOTICE.format(name=PACKAGE.name, number=number, count=len(RENDERER))
        path.write_text(notice + part, encoding="ascii")
        print(f"{path.stat().st_size:>9} {path.name}")


def parts(script: str) -> list[str]:
    """Return the script as scripts that a page loads one after the other. The last one begins the program."""
    _, _, rest = script.partition(BEGINNING)
    *first, last = re.split(rf"(?<=\}}),(?=(?:{'|'.join(map(str, FIRST_MODULES))}):)", rest)
    kept = [f"self.explorerModules={{...self.explorerModules,{modules}}};\n" for modules in first]
    return [*kept, f"{BEGINNING}...self.explorerModules,{last}"]


def in_ascii(script: str) -> str:
    """Return a script with escapes in place of characters beyond ASCII. They must be in texts and patterns only."""
    return re.sub(r"[^\x00-\x7f]", _escaped, script)


def _escaped(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


if __name__ == "__main__":
    main()
