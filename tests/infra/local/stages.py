"""A local stage as a process: started by a test with an environment, killed at the end."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local import ports

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
WHOLE = ("-m", "infra.local")


@contextmanager
def a_stage(*program: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the program, or the whole service if none is given, as a stage on free ports until the block ends."""
    defaults = {
        "PORT": str(ports.free_port()),
        "AWS_PORT": str(ports.free_port()),
        "ENGINE": "",
        "DEMO": "",
    }
    with subprocess.Popen(
        [sys.executable, *(program or WHOLE)],
        env={**os.environ, **defaults, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def url_of(process: "subprocess.Popen[str]", printed: list[str] | None = None) -> str:
    """Return the address that the stage prints; `printed` takes the lines up to it and the next one."""
    assert process.stdout
    for line in process.stdout:
        if address := ADDRESS.search(line):
            if printed is not None:
                printed += [line.strip(), process.stdout.readline().strip(), process.stdout.readline().strip()]
            return address[0]
    raise AssertionError(process.stderr.read() if process.stderr else "")


def refusal_of(process: "subprocess.Popen[str]") -> str:
    """Return the one line that a stage printed instead of starting."""
    out, err = process.communicate(timeout=60)
    assert all(line.startswith("  ") for line in out.splitlines()), "only the steps of the start"
    assert process.returncode == 1
    assert err.count("\n") == 1
    return err.strip()
