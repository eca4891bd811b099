"""The bucket of a scenario: files by their names, and every version of them until somebody deletes it for good."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

PAGE = 2  # versions in a page of their list


class Version(NamedTuple):
    """A version of a file, and when it was put there."""

    name: str
    number: str
    content: bytes
    at: float


class Bucket(dict[str, bytes]):
    """The newest content of each file. `ever` has also what was deleted; `call` is told of each call of S3."""

    def __init__(self, clock: Callable[[], float], call: Callable[[], None]) -> None:
        super().__init__()
        self._clock, self._call = clock, call
        self.versions: list[Version] = []
        self.ever: dict[str, bytes] = {}

    def __setitem__(self, name: str, content: bytes) -> None:
        """Put a new version of a file."""
        self.versions.append(Version(name, str(len(self.ever) + len(self.versions)), content, self._clock()))
        self.ever[name] = content
        super().__setitem__(name, content)

    # The part of boto3's client that the operator's commands use

    def get_paginator(self, operation: str) -> "Bucket":
        """Return what lists the versions of files, page by page."""
        assert operation == "list_object_versions"
        return self

    def paginate(self, Bucket: str, Prefix: str) -> Iterator[dict[str, Any]]:  # noqa: N803  boto3's names
        """Yield the pages of the versions of files whose names begin so."""
        del Bucket
        self._call()
        found = [{"Key": one.name, "VersionId": one.number} for one in self.versions if one.name.startswith(Prefix)]
        for start in range(0, len(found), PAGE):
            yield {"Versions": found[start : start + PAGE]}
        yield {}

    def delete_objects(self, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:  # noqa: N803  see above
        """Delete versions of files."""
        del Bucket
        self._call()
        gone = {(one["Key"], one["VersionId"]) for one in Delete["Objects"]}
        self.versions = [one for one in self.versions if (one.name, one.number) not in gone]
        left = {one.name: one.content for one in self.versions}
        for name in self.keys() - left.keys():
            del self[name]
        self.update(left)
        return {}
