"""The requests of a document, run one after the other as a reader pastes them into a shell."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infra.demo.data import OWNER
from infra.reference import ROOT
from tests.support.export_files import object_of

BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
ASSIGNED = re.compile(r"(?P<name>[A-Z]+)=")
OF_THE_ANSWER = re.compile(r"# (?P<path>[\w.]+) of the answer$")
DOWNLOAD = re.compile(r'curl -s -o (?P<file>[\w.]+) "\$URL"$')
LOCAL = "http://127.0.0.1:8000"


def commands(document: str) -> Iterator[str]:
    """Yield the commands of the document's shell blocks; one may have several lines."""
    for block in BLOCK.findall((ROOT / document).read_text(encoding="utf-8")):
        lines: list[str] = []
        for line in block.splitlines():
            lines.append(line)
            if _is_whole(text := "\n".join(lines)):
                lines.clear()
                yield text.strip()
        assert not lines, f"{document}: a command that does not end: {lines}"


def _is_whole(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return not text.endswith("\\")


def run(
    document: str, stage: str, login: str | None = None, folder: Path = ROOT, programs: tuple[str, ...] = ()
) -> list[Any]:
    """Send the document's requests to the stage, and return the answers; what is assigned between them is assigned.

    A value that a comment says to take from the answer before is taken from it. The login is used instead of the demo
    owner's. Of the other commands only those of `programs` are run, in the folder; what they print is among the
    answers. A download is written to the folder.
    """
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    variables: dict[str, str] = {}
    answers: list[Any] = []
    for command in commands(document):
        here = command.replace(LOCAL, stage).replace(".venv/bin/python", sys.executable)
        here = here.replace(":".join(OWNER), login) if login else here
        if assigned := ASSIGNED.match(here):
            name = assigned["name"]
            taken = OF_THE_ANSWER.search(here)
            variables[name] = (
                _at(taken["path"], answers[-1]) if taken else _shell(f'{here}\nprintf %s "${name}"', variables)
            )
        elif download := DOWNLOAD.match(here):  # the bucket of the tests is not on the network
            (folder / download["file"]).write_bytes(object_of(variables["URL"])["Body"])
        elif here.startswith("curl "):
            body = _shell(here, variables).splitlines()[-1]  # behind the headers, if it prints them
            answers.append(json.loads(body, parse_float=Decimal))
        elif here.startswith(programs):
            answers.append(_shell(here, variables, folder))
    return answers


def _shell(command: str, variables: dict[str, str], folder: Path = ROOT) -> str:
    """Return what a shell prints that has these variables."""
    words = ["bash", "-e", "-c", command]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def _at(path: str, answer: Any) -> str:
    for name in path.split("."):
        answer = answer[name]
    return str(answer)
