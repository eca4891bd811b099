"""The connection of `chalice local` to the AWS of a running local stage.

Chalice overwrites the environment with `.chalice/config.json`, so that file has the usual address under another name.
"""

import os
import socket
import sys
from urllib.parse import urlsplit

USUAL_ADDRESS = "LOCAL_AWS"  # only `chalice local` has this variable
VARIABLE = "AWS_ENDPOINT_URL"


def connect() -> None:
    """Set the address of the local stage's AWS for every client, unless the environment has one.

    End the process with one line if nothing listens there.
    """
    url = os.environ.setdefault(VARIABLE, os.environ[USUAL_ADDRESS])
    try:
        address = urlsplit(url)
        socket.create_connection((address.hostname or "", address.port or 80), timeout=5).close()
    except (OSError, ValueError):
        print(f"No local stage is at {url}: start one with `make run`, or name another in {VARIABLE}.", file=sys.stderr)
        os._exit(1)  # Chalice imports the app in a thread, and SystemExit would end only that thread
