"""The folder of a bank: its journal, from which a bank that was killed comes back, and the secret of its digests."""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

SECRET_BYTES = 32


class FolderInUseError(Exception):
    """Another bank has the folder."""


class Journal:
    """Lines that are written before the bank acts on them. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._file: Any = None
        self._lines: list[dict[str, Any]] = []
        self.secret = secrets.token_bytes(SECRET_BYTES)
        if folder:
            self._open(folder)

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield what was written before this bank began, once."""
        yield from self._lines
        self._lines = []

    def write(self, line: dict[str, Any]) -> None:
        """Hand a line to the operating system: it outlives this process."""
        if self._file:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        """Close the folder, for another bank."""
        if self._file:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = open(folder / "journal.jsonl", "ab+", opener=_private)  # noqa: SIM115  Path.open has no opener
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            message = f"{folder} is in use by another bank. End it, or take another folder."
            raise FolderInUseError(message) from None
        self.secret = self._kept_secret(folder / "secret")
        self._file.seek(0)
        content = self._file.read()
        kept, _, _unfinished = content.rpartition(b"\n")  # a bank that was killed in the middle of a line did not act
        self._file.truncate(len(kept) + 1 if kept else 0)
        self._lines = [json.loads(line) for line in kept.split(b"\n") if line]

    def _kept_secret(self, path: Path) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            if len(secret := path.read_bytes()) == SECRET_BYTES:
                return secret
        path.touch(mode=0o600)
        path.write_bytes(self.secret)
        return self.secret


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
