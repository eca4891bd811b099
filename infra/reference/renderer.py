"""The command `make renderer`, which packs the renderer of the reference into `chalicelib/reference`.

It is Scalar, under the MIT licence: one file of its npm package, unchanged, behind the text of its licence, which the
package lacks. The packed file is committed, so nobody needs npm to run or to deploy the service.
"""

import base64
import hashlib
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from chalicelib.routes.reference import FOLDER, RENDERER
from infra.reference import HERE

VERSION = RENDERER.removeprefix("scalar-").removesuffix(".js")
PACKAGE = f"@scalar/api-reference@{VERSION}"
INTEGRITY = "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow=="
MEMBER = "package/dist/browser/standalone.js"
SHA256 = "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c"  # of that file


def main() -> None:
    """Fetch the package, check it, and write the packed file."""
    if not shutil.which("npm"):
        sys.exit("npm is not installed: it fetches the package of the renderer.")
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, PACKAGE]
        subprocess.run(command, check=True)  # noqa: S603  every word of the command is ours
        (archive,) = Path(folder).iterdir()
        if _integrity(archive.read_bytes()) != INTEGRITY:
            sys.exit(f"{PACKAGE} is not the package it was: its hash is {_integrity(archive.read_bytes())}.")
        with tarfile.open(archive) as packed:
            script = packed.extractfile(MEMBER)
            assert script  # noqa: S101  for the types: it is a file
            content = licence().encode() + script.read()
    path = FOLDER / f"{RENDERER}.xz"
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.stat().st_size:>9} {path.name}")


def _integrity(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def licence() -> str:
    """Return the comment in front of the renderer: its name, its version and its licence."""
    text = (HERE / "renderer-licence.txt").read_text(encoding="utf-8")
    return f"/*! {PACKAGE}\n\n{text}*/\n"


if __name__ == "__main__":
    main()
