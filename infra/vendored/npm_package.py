"""A package of the npm registry with an exact version and a known hash: the source of vendored files."""

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """A package, such as `preact@11.2.0`, and its hash as the registry writes it."""

    name: str
    integrity: str

    def files(self, *members: str) -> list[bytes]:
        """Return files of the package. Exit with one line if npm is missing or the hash differs."""
        if not shutil.which("npm"):
            sys.exit(f"npm is not installed: it fetches {self.name}.")
        with tempfile.TemporaryDirectory() as folder:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, self.name]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  every word of it is ours
            (archive,) = (path.read_bytes() for path in Path(folder).iterdir())
        found = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
        if found != self.integrity:
            sys.exit(f"{self.name} is not the package it was: its hash is {found}.")
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            return [_member(packed, f"package/{member}") for member in members]


def _member(packed: tarfile.TarFile, name: str) -> bytes:
    member = packed.extractfile(name)
    assert member  # noqa: S101  for the types: it is a file
    return member.read()
