"""The command `make renderer`, which packs the renderer of the reference into `chalicelib/reference`.

It is Scalar, under the MIT licence: one file of its npm package, unchanged, behind the text of its licence, which the
package lacks. The packed file is committed, so running and deploying the service needs no npm.
"""

import lzma
from pathlib import Path

from chalicelib.routes.pages import FOLDER, RENDERER
from infra.vendored.npm_package import Package

VERSION = RENDERER.removeprefix("scalar-").removesuffix(".js")
PACKAGE = Package(
    f"@scalar/api-reference@{VERSION}",
    "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==",
)
MEMBER = "dist/browser/standalone.js"
SHA256 = "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c"  # of that file


def main() -> None:
    """Fetch the package, check it, and write the packed file."""
    (script,) = PACKAGE.files(MEMBER)
    path = FOLDER / f"{RENDERER}.xz"
    path.write_bytes(lzma.compress(licence().encode() + script, preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.stat().st_size:>9} {path.name}")


def licence() -> str:
    """Return the comment in front of the renderer: its name, its version and its licence."""
    text = Path(__file__).with_name("renderer-licence.txt").read_text(encoding="utf-8")
    return f"/*! {PACKAGE.name}\n\n{text}*/\n"


if __name__ == "__main__":
    main()
