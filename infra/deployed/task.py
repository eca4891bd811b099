"""The files of a function: the zip as Lambda unpacks it, and the packages that Lambda's runtime adds."""

import os
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

NATIVE = re.compile(r"\.(cpython-\d+|abi3)[^/]*\.so$")
# Packages that no zip of ours holds, because Lambda's runtime has them; awslambdaric is that runtime.
CLIENT_OF_AWS = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six.py")
RUNTIME_CLIENT = ("awslambdaric", "runtime_client*.so", "snapshot_restore_py.py", "simplejson")
ENGINES = Path(__file__).parents[2] / ".engines"
INSTALL_HINT = "What is deployed runs under the PyPI package awslambdaric (`make lambda` installs it)."


class RuntimeMissingError(Exception):
    """AWS's runtime client is not installed; the message says how to install it."""


def unpacked(zip_path: Path, target: Path) -> Path:
    """Unpack the zip into `target`, with native modules of this machine in place of those for arm64; return `target`.

    They are those of the same lock, installed in the environment this runs in.
    """
    with zipfile.ZipFile(zip_path) as packed:
        packed.extractall(target)
    here = Path(sysconfig.get_path("platlib"))
    for module in [path for path in target.rglob("*.so") if NATIVE.search(path.name)]:
        name = module.relative_to(target)
        stem = name.name.split(".")[0]
        own = [path for path in (here / name.parent).glob(f"{stem}.*so") if NATIVE.search(path.name)]
        module.unlink()
        (target / name.parent / own[0].name).write_bytes(own[0].read_bytes())
    return target


def is_installed() -> bool:
    """Return whether AWS's runtime client is at hand."""
    return bool(_runtime_clients())


def _runtime_clients() -> list[Path]:
    return sorted((ENGINES / "awslambdaric" / "lib").glob("python*/site-packages/awslambdaric"))


def runtime(target: Path) -> Path:
    """Make the folder `target` of what Lambda's runtime has, as links, and return it. Raises RuntimeMissingError."""
    installed = _runtime_clients()
    if not installed:
        raise RuntimeMissingError(INSTALL_HINT)
    own = Path(sysconfig.get_path("purelib"))
    found = [path for name in RUNTIME_CLIENT for path in installed[-1].parent.glob(name)]
    target.mkdir(parents=True)
    for path in (*found, *(own / name for name in CLIENT_OF_AWS)):
        (target / path.name).symlink_to(path)
    return target


def command(handler: str) -> list[str]:
    """Return the command of an instance: the interpreter without packages of its own, and the runtime client."""
    return [os.path.realpath(sys.executable), "-S", "-m", "awslambdaric", handler]
