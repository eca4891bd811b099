"""The requests of a document, run one after the other as a reader pastes them into a shell."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.demo.data import OWNER
from infra.reference import ROOT
from infra.stack import config
from tests.support.export_files import object_of

BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
ASSIGNED = re.compile(r"(?P<name>[A-Z]+)=")
DOWNLOAD = re.compile(r'curl -s -o (?P<file>[\w.]+) "\$URL"')
LOCAL, AWS = "http://127.0.0.1:8000", "http://127.0.0.1:8001"


def commands(document: str) -> Iterator[str]:
    """Yield the commands of the document's shell blocks; one may have several lines."""
    yield from _commands_in(document, (ROOT / document).read_text(encoding="utf-8"))


def commands_under(document: str, heading: str) -> Iterator[str]:
    """Yield the commands under this heading of the document."""
    [section] = [one for one in _sections(document) if _heading(one) == heading]
    yield from _commands_in(document, section)


def _sections(document: str) -> list[str]:
    return re.split(r"^(?=##+ )", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE)


def _heading(section: str) -> str:
    return section.partition("\n")[0].lstrip("# ")


def _commands_in(document: str, text: str) -> Iterator[str]:
    for block in BLOCK.findall(text):
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


@cache
def pasted(document: str, stage: str, aws: str = AWS) -> list[Any]:
    """Paste the document's blocks with requests into one shell, once for each stage, and return the answers."""
    return list(_answers(printed(document, stage, aws)))


def printed(document: str, stage: str, aws: str = AWS) -> str:
    """Paste the document's blocks with requests into one shell, and return all that it prints.

    Only the addresses of the stage, of its AWS and of Python are replaced. The machine's clock is in the zone that is
    most ahead. The shell has no setting of the stage.
    """
    _need_curl()
    blocks = BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))
    blocks = [block for block in blocks if "curl " in block or f"API={LOCAL}" in block]
    typed = "".join(blocks).replace(LOCAL, stage).replace(AWS, aws).replace(".venv/bin/python", sys.executable)
    words = ["bash"]
    done = subprocess.run(
        words,
        input=typed,
        cwd=ROOT,
        env={**_shell_next_to(aws), "TZ": "UTC-14"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def printed_by(document: str, headings: Collection[str], replaced: Mapping[str, str]) -> str:
    """Paste the blocks before the first heading and those under these into one shell; return all that it prints.

    The texts in `replaced` are replaced, and that of Python. Commands may fail, as they do on a bad day.
    """
    _need_curl()
    start, *sections = _sections(document)
    chosen = [one for one in sections if _heading(one) in headings]
    assert len(chosen) == len(headings)
    typed = "\n".join(block for one in (start, *chosen) for block in BLOCK.findall(one))
    for text, other in {**replaced, ".venv/bin/python": sys.executable}.items():
        typed = typed.replace(text, other)
    words = ["bash"]
    done = subprocess.run(
        words,
        input=typed,
        cwd=ROOT,
        env={**_shell_next_to(replaced.get(AWS, AWS)), "STAGE": "local"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


def _shell_next_to(aws: str) -> dict[str, str]:
    """Return the environment of a shell next to the local stage whose AWS is at this address."""
    foreign = (*config.SETTINGS, "AWS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "AWS_PORT": aws.rpartition(":")[2]}


def answers_in(printed: str) -> list[Any]:
    """Return the answers of the service in the output of a shell, also those that share a line."""
    decoder = json.JSONDecoder(parse_float=Decimal)
    return [decoder.raw_decode(printed, found.start())[0] for found in re.finditer('{"ErrorCode"', printed)]


def _need_curl() -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")


def _answers(printed: str) -> Iterator[Any]:
    """Yield the JSON objects in the output of a shell, which may also have headers."""
    decoder, end = json.JSONDecoder(parse_float=Decimal), 0
    while begin := re.compile("^{", re.MULTILINE).search(printed, end):
        answer, end = decoder.raw_decode(printed, begin.start())
        yield answer


def run_programs(document: str, stage: str, login: str, folder: Path, programs: tuple[str, ...]) -> list[str]:
    """Run the document's commands of these programs in the folder, and return what they print.

    What is assigned between them is assigned, with this login for the demo owner's. A download comes from the bucket,
    which is not on the network. The machine's clock is in the zone that is most ahead.
    """
    _need_curl()
    variables = {"TZ": "UTC-14"}
    printed: list[str] = []
    for command in commands(document):
        here = command.replace(LOCAL, stage).replace(":".join(OWNER), login)
        if assigned := ASSIGNED.match(here):
            name = assigned["name"]
            variables[name] = _shell(f'{here}\nprintf %s "${name}"', variables)
        elif download := DOWNLOAD.fullmatch(here):
            (folder / download["file"]).write_bytes(object_of(variables["URL"])["Body"])
        elif here.startswith(programs):
            printed.append(_shell(here, variables, folder))
    return printed


def _shell(command: str, variables: dict[str, str], folder: Path = ROOT) -> str:
    """Return what a shell prints that has these variables."""
    words = ["bash", "-e", "-c", command]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout
