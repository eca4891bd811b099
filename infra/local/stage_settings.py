"""The settings of a running local stage, which the operator's commands read at the port of its simulated AWS."""

import contextlib
import http.client
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

from chalicelib import outside
from chalicelib.settings import OF_THE_LOCAL_STAGE
from chalicelib.store.aws_client import PORT
from infra.local.ports import HOST
from infra.stack import config
from infra.stack.resources import REGION

ROOT = Path(__file__).parents[2]
PATH = "/settings"  # on the port of the simulated AWS
SECONDS = 5


# The environment of every local stage.
ENVIRONMENT = {
    **OF_THE_LOCAL_STAGE,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def of_this_process() -> dict[str, str]:
    """Return the settings of this process, with its region and its credentials, which are none."""
    return {name: os.environ[name] for name in sorted(config.SETTINGS | ENVIRONMENT.keys()) if name in os.environ}


def read() -> dict[str, str]:
    """Return the whole environment of a process that uses the local stage. Exit with one line if none runs.

    The stage is at AWS_PORT of this machine, else at AWS_ENDPOINT_URL.
    """
    port = os.environ.get("AWS_PORT")
    url = f"http://{HOST}:{port}" if port else os.environ.get("AWS_ENDPOINT_URL") or f"http://{HOST}:{PORT}"
    found: object = None
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        parts = urlsplit(url)
        if parts.scheme == "http":
            with contextlib.closing(http.client.HTTPConnection(parts.netloc, timeout=SECONDS)) as connection:
                connection.request("GET", PATH)
                found = json.load(connection.getresponse())
    if not isinstance(found, dict) or not ENVIRONMENT.keys() <= found.keys():
        sys.exit(f"No local stage is at {url}: start one with `make run`, or name its AWS_PORT.")
    no_profile = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull)
    return {**found, **no_profile, "AWS_ENDPOINT_URL": url}


@contextlib.contextmanager
def replaced(environment: Mapping[str, str], *dropped: str) -> Iterator[None]:
    """Give the process this environment in the block, and no other settings. Names that begin with `dropped` go too."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in config.SETTINGS and not name.startswith(dropped)
    }
    with patch.dict(os.environ, {**kept, **environment}, clear=True), outside.given():
        yield
