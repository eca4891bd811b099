"""Create a record once for each Idempotency-Key: its transaction also stores the request, and a repeat finds that."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

from chalicelib.domain.agent import Caller
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.picture import Picture
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.ids import derived_guid
from chalicelib.gateways.secrets import pseudonym
from chalicelib.schemas.base import Request
from chalicelib.services.caller_check import Admitted
from chalicelib.services.passwords import verify
from chalicelib.store import creations
from chalicelib.store.creations import Creation
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, read, read_all

T = TypeVar("T")
PASSWORD = "password"  # noqa: S105  the name of a field
KIND = "creation"  # of the pseudonyms


@dataclass(frozen=True)
class Created(Generic[T]):
    """A created record. `replayed`: an earlier request with the same key created it, and it is shown as it is now."""

    record: T
    withheld: bool = False  # the welcome e-mail
    loser: Merchant | None = None  # the merchant that lost its number at the bank
    replayed: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """Return the header of a replayed answer."""
        return {"Idempotent-Replayed": "true"} if self.replayed else {}


@dataclass(frozen=True)
class Once:
    """A request to create a record. `keys` has its key in the store, none without an Idempotency-Key.

    `place` is the merchant of the path, and `context` names the fields that are no content: they tell of the caller.
    """

    keys: tuple[Key[Creation], ...]
    body: Request
    place: int
    context: frozenset[str]

    @classmethod
    def of(  # noqa: PLR0913, PLR0917  each argument is needed and independent
        cls, kind: str, key: str | None, caller: Caller, body: Request, context: Collection[str], place: int = 0
    ) -> "Once":
        """Return the request with an Idempotency-Key header. Each kind of record and each caller has its own keys."""
        keys = (creations.key(derived_guid(kind, caller.agent_id, key)),) if key else ()
        return cls(keys, body, place, frozenset(context))

    def first(self, admitted: Admitted) -> Creation | None:
        """Return the first request with the key, None if there is none. Raise ID_REUSED when it had other content.

        A request with faults has no first one: it is refused for these.
        """
        first = admitted.read(self.keys[0]) if self.keys and not self.body.faults else None
        if first is None or (first.digest == self._digest() and self._has_password_of(first)):
            return first
        raise ServiceError(ErrorCode.ID_REUSED)

    def look_again(self) -> None:
        """Raise ChangedMeanwhileError if the first request was stored since it was looked for."""
        stored: list[Creation | None] = read_all(self.keys)
        if any(stored):
            raise ChangedMeanwhileError

    def writes(self, record_id: int, now: datetime, sealed: bytes | None = None, **result: Any) -> list[Write]:
        """Return the write of the request, to be the first of its transaction: a repeat meets no other condition.

        `sealed` is the encrypted secret of its answer.
        """
        secret = seal_mark(sealed) if sealed else None
        expires_at = creations.expiry(now)
        return [
            creations.put(Creation(key.key["name"], self._digest(), record_id, expires_at, secret=secret, **result))
            for key in self.keys
        ]

    def _has_password_of(self, first: Creation) -> bool:
        password: Secret | None = getattr(self.body, PASSWORD, None)
        return verify(first.password_hash, password) if password else first.password_hash is None

    def _digest(self) -> str:
        content = {name: value for name, value in self.body if name not in {*self.context, PASSWORD}}
        return pseudonym(KIND, f"{self.place}\x1f{json.dumps(content, default=_plain, sort_keys=True)}")


def require_created(key: Key[T], missing: ErrorCode) -> T:
    """Return the record that a first request created, as it is now. Raise `missing` when it was deleted since."""
    record = read(key)
    if record is None:
        raise ServiceError(missing, replayed=True)
    return record


def seal_mark(sealed: bytes) -> str:
    """Return the text that stands for an encrypted secret in the record of a request."""
    return hashlib.sha256(sealed).hexdigest()


def may_show(first: Creation, sealed: bytes | None, now: datetime) -> bool:
    """Return whether a repeat answers the secret of the first answer: for a day, unless it was replaced since."""
    return sealed is not None and first.secret == seal_mark(sealed) and first.is_fresh(now)


def _plain(value: object) -> Any:
    """Return a value that JSON does not have as one that it has."""
    match value:
        case Request():
            return dict(value)
        case Secret():
            return value.reveal()
        case Picture():
            return value.name("")
        case Decimal():
            return f"{value.normalize():f}"
        case _:
            message = f"{type(value).__name__} is no content"
            raise TypeError(message)
