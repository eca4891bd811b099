"""A POST to a URL that a partner or a merchant gave: bounded in time, in bytes, and in where it may connect to."""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import cycle, islice
from urllib.parse import SplitResult, urlsplit

from chalicelib import network
from chalicelib.network import Address, BrokenAnswerError, Connection, Deadline, UnknownNameError
from chalicelib.record import Record

ANSWER_BYTES = 256 * 1024
ATTEMPTS = 3  # to connect; a request that was sent is never sent again
PAUSE_S = 0.1  # before the second attempt, twice that before the third


class FailedError(Exception):
    """A call without a usable response; the message is our own text and quotes nothing, so it may be logged."""


class Reply(Record):
    """A complete response."""

    status: int
    body: bytes


def post(  # noqa: PLR0913  what a call is made of
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    allowed: Callable[[str], bool],
    kept_bytes: int | None = None,
) -> Reply:
    """Send one POST and return the response, within `seconds` in all; a redirect is returned, not followed.

    The name is looked up once, and every address of it must be `allowed` (see `domain.url_guard`). The connection goes
    to one of the addresses that were checked, even if the name resolves to others by then. With `kept_bytes` the status
    is what counts: no more of the body is read, and one that is late or broken off is as long as what came.
    """
    deadline = Deadline(seconds)
    target = urlsplit(url)
    try:
        addresses = _look_up(target, deadline)
        if not all(allowed(to[0]) for _, to in addresses):
            message = "its address is not public"
            raise FailedError(message)
        with closing(Connection(_connect(target, addresses, deadline))) as connection:
            path = (target.path or "/") + (f"?{target.query}" if target.query else "")
            sent = {"Host": target.netloc, "Accept-Encoding": "identity", "Connection": "close", **headers}
            response = connection.post(path, sent, body, deadline, ANSWER_BYTES)
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


def _look_up(target: SplitResult, deadline: Deadline) -> Sequence[Address]:
    """Return the addresses of the name."""
    port = target.port or (443 if target.scheme == "https" else 80)
    try:
        return network.look_up(target.hostname or "", port, deadline)
    except UnknownNameError:
        message = "its name is not known"
    raise FailedError(message)


def _connect(target: SplitResult, addresses: Sequence[Address], deadline: Deadline) -> socket.socket:
    """Connect to one of the addresses; a failed attempt is followed by another one, at the next address."""
    context = network.tls(None) if target.scheme == "https" else None
    failure: OSError = ConnectionError()
    for attempt, address in enumerate(islice(cycle(addresses), ATTEMPTS)):
        if attempt:
            time.sleep(min(PAUSE_S * attempt, deadline.left()))
        try:
            part = Deadline(deadline.left() / (ATTEMPTS - attempt))
            return network.connect([address], target.hostname or "", part, context)
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            failure = error
    raise failure


def _beginning_of(response: http.client.HTTPResponse, most: int) -> bytes:
    content = b""
    with suppress(OSError, http.client.HTTPException, ValueError, BrokenAnswerError):
        while len(content) < most and (part := response.read1(most - len(content))):
            content += part
    return content
