"""The dependencies of the functions: exactly the wheels of `requirements.lock`, for the machine Lambda runs them on.

Chalice would download them itself, but by name and version: the hashes of the lock would not be compared. So they are
installed into the `vendor` folder of the project, which Chalice packs as it is.
"""

import shutil
import subprocess
import sys
from pathlib import Path

RUNTIME = (3, 11)  # bytecode and wheels are for this Python: the zip must be made by it
GLIBC_MINORS = range(17, 27)  # Lambda's Python 3.11 runs on Amazon Linux 2, which has glibc 2.26
PLATFORMS = ("manylinux2014_aarch64", *(f"manylinux_2_{minor}_aarch64" for minor in GLIBC_MINORS))
ABIS = (f"cp{RUNTIME[0]}{RUNTIME[1]}", "abi3", "none")


class DependencyError(Exception):
    """The reason the dependencies cannot be installed, in one line."""


def install(lock: Path, folder: Path) -> None:
    """Install what the lock lists into `folder`; DependencyError for a wheel that is missing or not the locked one."""
    options = [
        *("--target", str(folder), "--requirement", str(lock), "--require-hashes", "--no-deps", "--no-compile"),
        *("--only-binary", ":all:", "--implementation", "cp", "--python-version", ".".join(map(str, RUNTIME))),
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
        *(word for abi in ABIS for word in ("--abi", abi)),
    ]
    done = subprocess.run(  # noqa: S603  every word of the command is ours
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
        raise DependencyError(" ".join(" ".join(lines).split()))
    shutil.rmtree(folder / "bin", ignore_errors=True)  # commands: their first line names the Python that installed them
