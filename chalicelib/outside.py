"""Give the service its time, settings, secrets and each way out, as one frozen value.

Nothing else in the service takes the time of day from the machine; botocore does, to sign calls of AWS. The tests, the
simulation and the local stage give other values with `given`; no module is changed for it.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar, cast

if TYPE_CHECKING:
    import socket

    from argon2 import PasswordHasher

    from chalicelib.domain.outbox import Outbox
    from chalicelib.gateways.acquirers.port import Acquirer
    from chalicelib.gateways.https import Reply
    from chalicelib.settings import Settings
    from chalicelib.store.aws_client import Client, Limits


def machine_time() -> datetime:
    """Return the time of this machine, in UTC."""
    return datetime.now(UTC)


# The ways out are imported at first use: a cold start loads only what its request needs.


def _client(service: str, limits: "Limits") -> "Client":
    from chalicelib.store.aws_client import Client  # noqa: PLC0415

    return Client(service, limits)


def _boto3_client(service: str, *, attempts: int, read_seconds: float, **options: Any) -> Any:
    from chalicelib.store.aws_client import Limits, create  # noqa: PLC0415

    return create(service, Limits(1, read_seconds, attempts), **options)


def _sandbox() -> "Acquirer":
    from chalicelib.gateways.acquirers.sandbox import Sandbox  # noqa: PLC0415  production stages do not need it

    return Sandbox()


def _iso8583() -> "Acquirer":
    from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583  # noqa: PLC0415  other stages need no codec
    from chalicelib.settings import settings  # noqa: PLC0415

    return Iso8583(settings().iso8583)


def _stripe() -> "Acquirer":
    from chalicelib.gateways.acquirers.stripe.adapter import Stripe  # noqa: PLC0415  other stages do not need it

    return Stripe()


def _acquirers() -> "Mapping[str, Callable[[], Acquirer]]":
    """Return all acquirers. Remove one only after its last transaction is finished, because the sweep resolves it."""
    return {"SANDBOX": _sandbox, "ISO8583": _iso8583, "STRIPE": _stripe}


def _look_up(*arguments: Any, **options: Any) -> Any:
    import socket  # noqa: PLC0415

    return socket.getaddrinfo(*arguments, **options)


def _open_socket(*arguments: Any) -> "socket.socket":
    import socket  # noqa: PLC0415

    return socket.socket(*arguments)


@cache
def _argon2() -> "PasswordHasher":
    """Return argon2id at the OWASP minimum (Password Storage Cheat Sheet): 19 MiB, two passes, one lane."""
    from argon2 import PasswordHasher  # noqa: PLC0415  20 ms, which a cold start with a secret key does not need

    return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


@dataclass(frozen=True)
class Outside:
    """The time, the settings, the secrets and each way out of the service."""

    now: Callable[[], datetime] = machine_time
    elapsed: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    between: Callable[[float, float], float] = random.uniform  # a random number: jitter, no secret
    settings: "Settings | None" = None  # None: those of the environment
    secret: Callable[[str], str] | None = None  # the text of a secret, by its ID; None: by `gateways.secrets`
    hasher: "Callable[[], PasswordHasher]" = _argon2  # of passwords
    client: "Callable[[str, Limits], Client]" = _client  # of DynamoDB, Secrets Manager and KMS
    boto3_client: Callable[..., Any] = _boto3_client  # of SES, SNS and S3
    acquirers: "Mapping[str, Callable[[], Acquirer]]" = field(default_factory=_acquirers)  # by their codes
    post: "Callable[..., Reply] | None" = None  # to a partner or a webhook; None: by `gateways.https`
    send_mail: "Callable[[Outbox, str], str] | None" = None  # None: by `gateways.mail`
    send_sms: "Callable[[Outbox, str], str] | None" = None  # None: by `gateways.sms`
    look_up: Callable[..., Any] = _look_up  # the addresses of a name
    open_socket: "Callable[..., socket.socket]" = _open_socket
    typed: Callable[[], TextIO] = lambda: sys.stdin  # the standard input of an operator


current = Outside()


def now() -> datetime:
    """Return the time of the service, in UTC."""
    return current.now()


P = ParamSpec("P")
T = TypeVar("T")

_given: list[dict[str, Any]] = []
_made: list[Callable[[], None]] = []


def made_once(make: Callable[P, T]) -> Callable[P, T]:
    """Remember the results of a function by its arguments, until `forget` is called."""
    made = cache(make)
    _made.append(made.cache_clear)
    return cast("Callable[P, T]", made)


@contextmanager
def given(**changes: Any) -> Iterator[None]:
    """Replace some fields of `Outside` in the block. Results and settings of before are forgotten at both ends."""
    _given.append(changes)
    forget()
    try:
        yield
    finally:
        _given[:] = [one for one in _given if one is not changes]
        forget()


def forget() -> None:
    """Forget all results of `made_once`: call it after a change of the environment."""
    global current  # noqa: PLW0603  the only place of the value
    current = Outside(**{name: value for changes in _given for name, value in changes.items()})
    for clear in _made:
        clear()
