"""A POST to a URL of a partner or merchant, with limits on time, bytes and addresses; a GET of our own address."""

import http.client
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from chalicelib import network
from chalicelib.network import Address, BrokenAnswerError, Connection, Deadline, UnknownNameError

ANSWER_BYTES = 256 * 1024
ATTEMPTS = 3  # to connect; a sent request is never repeated


class FailedError(Exception):
    """A call without a usable response. The message is our own text and quotes nothing, so it may be logged."""


@dataclass(frozen=True)
class Reply:
    """A complete response."""

    status: int
    body: bytes


def post(  # noqa: PLR0913  each argument is needed and independent
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    allowed: Callable[[str], bool],
    kept_bytes: int | None = None,
) -> Reply:
    """Send one POST and return the response, within `seconds` in all. A redirect is returned, not followed.

    The name is looked up once, and every address must be `allowed` (see `domain.url_guard`). The connection goes to one
    of the checked addresses, even if the name resolves to others by then. With `kept_bytes` mainly the status counts:
    only so much of the body is read, and a late or broken body is cut where it ends.
    """
    deadline = Deadline(seconds)
    target = urlsplit(url)
    try:
        addresses = _look_up(target, deadline)
        if not all(allowed(to[0]) for _, to in addresses):
            message = "its address is not public"
            raise FailedError(message)
        context = network.tls() if target.scheme == "https" else None
        sock = network.connect(addresses, target.hostname or "", deadline, context, attempts=ATTEMPTS)
        with closing(Connection(sock)) as connection:
            path = (target.path or "/") + (f"?{target.query}" if target.query else "")
            sent = {"Host": target.netloc, "Accept-Encoding": "identity", "Connection": "close", **headers}
            response = connection.send("POST", path, sent, body, deadline, ANSWER_BYTES)
            if kept_bytes is not None:
                return Reply(response.status, _beginning_of(response, kept_bytes))
            return Reply(response.status, network.body_of(response, ANSWER_BYTES))
    except TimeoutError:
        message = "no answer in time"
    except ssl.SSLCertVerificationError:
        message = "its certificate is not valid"
    except BrokenAnswerError as error:
        message = str(error)
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"the exchange failed: {type(error).__name__}"  # the error's own text may quote the response
    raise FailedError(message)


def get(url: str, seconds: float, headers: Mapping[str, str]) -> Reply:
    """Send one GET and return the response. Raise OSError or HTTPException without one."""
    target = urlsplit(url)
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    with closing(kind(target.netloc, timeout=seconds)) as connection:
        connection.request("GET", f"{target.path}?{target.query}", headers=headers)
        response = connection.getresponse()
        return Reply(response.status, response.read(ANSWER_BYTES))


def _look_up(target: SplitResult, deadline: Deadline) -> Sequence[Address]:
    port = target.port or (443 if target.scheme == "https" else 80)
    try:
        return network.look_up(target.hostname or "", port, deadline)
    except UnknownNameError:
        message = "its name is not known"
    raise FailedError(message)


def _beginning_of(response: http.client.HTTPResponse, most: int) -> bytes:
    content = b""
    with suppress(OSError, http.client.HTTPException, ValueError, BrokenAnswerError):
        while len(content) < most and (part := response.read1(most - len(content))):
            content += part
    return content
