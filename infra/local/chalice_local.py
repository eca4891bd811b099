"""The way of `chalice local` to the AWS of a running local stage.

Chalice puts `.chalice/config.json` over the environment, so that file names the usual address in a variable of its own.
"""

import os
import socket
import sys
from urllib.parse import urlsplit

USUAL_ADDRESS = "LOCAL_AWS"  # the variable; the local stage itself and what is deployed do not have it
VARIABLE = "AWS_ENDPOINT_URL"


def connect() -> None:
    """Name the AWS of the local stage to every client: that of the environment, else the usual one.

    End the process with one line when nobody listens there.
    """
    url = os.environ.setdefault(VARIABLE, os.environ[USUAL_ADDRESS])
    try:
        address = urlsplit(url)
        socket.create_connection((address.hostname or "", address.port or 80), timeout=5).close()
    except (OSError, ValueError):
        print(f"No local stage is at {url}: start one with `make run`, or name another in {VARIABLE}.", file=sys.stderr)
        os._exit(1)  # Chalice imports the app in a thread, which SystemExit would end alone
