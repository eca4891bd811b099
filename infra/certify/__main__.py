"""`make certify`: run the acquirer's test cases against a host, and print which passed.

HOST and PORT name the host. ISO8583_INSTITUTION, ISO8583_CA, ISO8583_TLS and ISO8583_DIALECT are settings of the
service. Without HOST the local bank is tested, and its list of violations counts as a case. CASES="9 10" runs some
cases. Exit status 0: no case failed. All cases take five minutes, because hosts are silent and late.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from chalicelib.settings import ISO8583
from infra.bank import books
from infra.certify.cases import CASES, Case
from infra.certify.client import Service
from infra.local import ports

PASSED, FAILED, BY_HAND = "passed", "FAILED", "by hand"
URL = re.compile(r"http://127\.0\.0\.1:\d+")
DOOR = re.compile(r"--control (\d+)")
TITLE_WIDTH = 48


@dataclass(frozen=True)
class Row:
    """A case and its result."""

    case: Case
    result: str
    notes: tuple[str, ...] = ()


def main() -> None:
    """Run the cases on a stage of their own."""
    wanted = os.environ.get("CASES", "").replace(",", " ").split()
    if unknown := set(wanted) - {case.number for case in CASES}:
        sys.exit(f"CASES names {', '.join(sorted(unknown))}; there are {', '.join(case.number for case in CASES)}.")
    chosen = [case for case in CASES if not wanted or case.number in wanted]
    with _stage(stage_environment(os.environ)) as (url, door):
        rows = []
        for case in chosen:
            rows.append(result_of(case, Service(url)))
            sys.stderr.write(f"{rows[-1].result:<8} {case.number}\n")
        rows += [_violations(door)] if door else []
    print(table(rows))
    sys.exit(any(row.result == FAILED for row in rows))


def stage_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a stage that calls the host, or of one with a bank if there is no HOST."""
    host, port = environment.get("HOST"), environment.get("PORT")
    if bool(host) != bool(port):
        sys.exit("HOST and PORT name the host: both, or none to try the bank of the local stage.")
    found = {name: value for name, value in environment.items() if name not in {"HOST", "ACQUIRER", "ACQUIRERS"}}
    found |= {"ENGINE": "", "PORT": str(ports.free_port()), "AWS_PORT": str(ports.free_port())}
    if not host:
        return found | {"ACQUIRER": "iso8583"}
    return found | {"ACQUIRERS": ISO8583, "ISO8583_HOST": host, "ISO8583_PORT": port or ""}


def result_of(case: Case, service: Service) -> Row:
    """Run a case. An exception is a failure."""
    if case.run is None:
        return Row(case, BY_HAND, (case.how,))
    try:
        wrong = tuple(case.run(service))
    except Exception as defect:  # noqa: BLE001  the other cases still run
        wrong = (f"{type(defect).__name__}: {defect}",)
    return Row(case, FAILED if wrong else PASSED, wrong)


def table(rows: Iterable[Row]) -> str:
    """Return the table of results, with a line for each difference."""
    lines = [f"{'nr':<6}{'case':<{TITLE_WIDTH}}result", "-" * (TITLE_WIDTH + 13)]
    rows = list(rows)
    for row in rows:
        lines.append(f"{row.case.number:<6}{row.case.title:<{TITLE_WIDTH}}{row.result}")
        lines += [f"{'':<6}  {note}" for note in row.notes]
    counts = {result: sum(row.result == result for row in rows) for result in (PASSED, FAILED, BY_HAND)}
    return "\n".join([*lines, "", ", ".join(f"{count} {result.lower()}" for result, count in counts.items())])


def _violations(door: int) -> Row:
    found = tuple(json.loads(books.read_from(door, "/books"))["violations"])
    return Row(Case("bank", "the bank saw no violation of the interface"), FAILED if found else PASSED, found)


@contextmanager
def _stage(environment: Mapping[str, str]) -> Iterator[tuple[str, int | None]]:
    """Run a local stage until the block ends. Yield its URL, and the port of its bank's books if it has a bank."""
    command = [sys.executable, "-m", "infra.local"]
    has_bank = "ACQUIRER" in environment
    with subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            lines = iter(process.stdout or ())
            url = next((found[0] for line in lines if "curl" in line and (found := URL.search(line))), None)
            door = next((int(found[1]) for line in lines if (found := DOOR.search(line))), None) if has_bank else None
            if url is None or (has_bank and door is None):
                sys.exit("The stage did not start.")
            # The stage logs each request: reading the pipe keeps it from filling up.
            threading.Thread(target=deque, args=(lines, 0), daemon=True).start()
            yield url, door
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
