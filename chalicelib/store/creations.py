"""The requests that created a record under an Idempotency-Key."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, put_new

TABLE = "sequences"
KEPT_FOR, SECRET_FOR = timedelta(days=30), timedelta(hours=24)


@dataclass(frozen=True)
class Creation:
    """The first request with an Idempotency-Key, and its result.

    `digest` stands for its content but the password, and `secret` for the encrypted secret of its answer.
    """

    name: str
    digest: str
    id: int  # of the created record
    expires_at: int  # epoch seconds: the table's TTL
    password_hash: str | None = None
    secret: str | None = None
    withheld: bool = False  # the welcome e-mail
    loser: int | None = None  # the merchant that lost its number at the bank

    def is_fresh(self, now: datetime) -> bool:
        """Return whether a repeat may still show the secret."""
        return now.timestamp() < self.expires_at - (KEPT_FOR - SECRET_FOR).total_seconds()


def key(request_id: str) -> Key[Creation]:
    """Return the key of a request."""
    return Key(TABLE, Creation, {"name": f"create#{request_id}"})


def put(creation: Creation) -> Write:
    """Return the write of the first request with its key. Its transaction raises ChangedMeanwhileError for others."""
    return put_new(TABLE, creation, "name", ChangedMeanwhileError())


def expiry(now: datetime) -> int:
    """Return the time until which a request is known, as epoch seconds."""
    return int((now + KEPT_FOR).timestamp())
