"""The folder in which a local stage keeps its data between runs.

`tables/` is the database of DynamoDB Local, and `files/` has the objects of the bucket. `stage.json` has the KMS key
that encrypts the agents' secret keys, and the stage's secrets: the tables are useless without them. It also has how far
the clock is ahead. The files are readable only by the user of the stage.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

DOCUMENT = "stage.json"
UNFINISHED = ".unfinished-"  # prefix of the names of half-written files
LOCK_SECONDS = 5  # the database of a killed stage ends within this time
KEY_BYTES = 32


class DataFolderError(Exception):
    """The folder cannot be used. The message is one line that gives the reason."""


class DataFolder:
    """An open folder. `lock` is the descriptor that locks it; a child process that inherits it also holds the lock."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.lock = lock
        self.tables, self.files = path / "tables", path / "files"
        for unfinished in path.glob(f"{UNFINISHED}*"):
            unfinished.unlink()
        self._document = self._load()
        if not self.seeded:  # the first start was interrupted: nobody has used its data
            for folder in (self.tables, self.files):
                shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.tables, self.files):
            folder.mkdir(mode=0o700, exist_ok=True)

    @property
    def seeded(self) -> bool:
        """Return whether the demo data is complete."""
        return bool(self._document["seeded"])

    @property
    def key_id(self) -> str:
        """The ID of the KMS key."""
        return str(self._document["key_id"])

    @property
    def key_material(self) -> bytes:
        """The KMS key itself."""
        return bytes.fromhex(self._document["key_material"])

    @property
    def secret(self) -> str | None:
        """The document in Secrets Manager; None before the first start."""
        text: str | None = self._document["secret"]
        return text

    @property
    def ahead(self) -> timedelta:
        """How far the clock of the stage is ahead of the machine's."""
        return timedelta(microseconds=self._document["ahead_us"])

    def store_ahead(self, ahead: timedelta) -> None:
        """Store how far the clock is ahead."""
        self._store({**self._document, "ahead_us": ahead // timedelta(microseconds=1)})

    def mark_seeded(self) -> None:
        """Record that the demo data is complete."""
        self._store({**self._document, "seeded": True})

    @property
    def digest_keys(self) -> str:
        """The document with the digest keys; without any before the first rotation."""
        return str(self._document.get("digest_keys") or "{}")

    def store_secret(self, text: str, digest_keys: str = "{}") -> None:
        """Store the documents in Secrets Manager."""
        self._store({**self._document, "secret": text, "digest_keys": digest_keys})

    def store_file(self, name: str, content: bytes) -> None:
        """Store an object of the bucket."""
        self._write(self.files / quote(name, safe=""), content)

    def delete_file(self, name: str) -> None:
        """Delete an object of the bucket."""
        (self.files / quote(name, safe="")).unlink(missing_ok=True)

    def stored_files(self) -> Iterator[tuple[str, bytes]]:
        """Return the names and contents of the objects of the bucket."""
        for path in sorted(self.files.iterdir()):
            yield unquote(path.name), path.read_bytes()

    def _load(self) -> Mapping[str, Any]:
        path = self.path / DOCUMENT
        if path.exists():
            try:
                document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
                bytes.fromhex(document["key_material"])
                timedelta(microseconds=document["ahead_us"])
                if {"seeded", "key_id", "secret"} <= document.keys():
                    return document
            except (ArithmeticError, ValueError, KeyError, TypeError):
                pass
            message = f"DATA={self.path}: {DOCUMENT} is damaged. Take another folder, or delete this one."
            raise DataFolderError(message)
        if any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            message = f"DATA={self.path}: the folder is not empty, and no local stage made it. Take another one."
            raise DataFolderError(message)
        material = secrets.token_bytes(KEY_BYTES).hex()
        key_id = str(uuid.uuid4())
        return self._store({"seeded": False, "key_id": key_id, "key_material": material, "secret": None, "ahead_us": 0})

    def _store(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        self._write(self.path / DOCUMENT, json.dumps(document, indent=2).encode())
        self._document = document
        return document

    def _write(self, path: Path, content: bytes) -> None:
        """Write the whole file or nothing, even if the process is killed."""
        new = self.path / f"{UNFINISHED}{uuid.uuid4()}"
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
        new.replace(path)


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[DataFolder]:
    """Lock the folder for this process until the block ends. Create it if needed. Raises DataFolderError."""
    path = path.expanduser().absolute()
    with contextlib.ExitStack() as stack:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(path, os.O_RDONLY)
            stack.callback(os.close, lock)
            _lock(path, lock)
            folder = DataFolder(path, lock)
        except OSError as error:
            message = f"DATA={path} cannot be used: {error.strerror}."
            raise DataFolderError(message) from error
        yield folder


def _lock(path: Path, descriptor: int) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                message = f"DATA={path} is in use by another local stage. End it, or take another folder."
                raise DataFolderError(message) from None
            time.sleep(0.1)
        else:
            return
