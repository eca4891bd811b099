"""The secrets of the stage: two documents in Secrets Manager, the digests under their keys, and a KMS key.

The KMS key seals the secrets of agents and webhooks. Digests stand for credentials, logins, addresses and cards.

One document is JSON: `{"digest_key": text, "signing": [current, previous], "partners": {product: text}, "iso8583":
{"certificate": PEM, "key": PEM}}`. `signing` signs JSON web tokens; it is absent until an operator first rotates it.
`partners` signs the requests to partners; it is absent until the first one is registered. `iso8583` is our certificate
for the host of that acquirer; it is absent if the host does not require one. The operator's commands write it, with
entries of their own that no function reads.

The other document is `{"digest_keys": [{"key": text}, {"key": text, "since": time}, ...]}`, so that no other change
replaces a digest key. It is `{}` until the first rotation; until then `digest_key` above is the only key. Keys are
numbered from 1. The last one that has begun makes new digests; all stay known. A digest of key 2 begins with "2.", one
of key 1 with nothing.
"""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from threading import Thread
from typing import Any

from chalicelib import clock
from chalicelib.aws.client import Client, Limits
from chalicelib.aws.endpoints import KMS, SECRETS_MANAGER
from chalicelib.aws.errors import CallError
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.log import log
from chalicelib.settings import settings
from chalicelib.store import aws_retries
from chalicelib.store.aws_retries import with_retries
from chalicelib.store.table import MALFORMED, UnreadableError

REMEMBERED_S = 300  # the time after which a rotation has reached every process
RETRY_S = 10  # after a failed read, while the remembered document is used
PSEUDONYM_LENGTH = 24  # hex digits, 96 bits: no two texts of a stage share a pseudonym
CARD_DIGEST_LENGTH = 32  # hex digits, 128 bits
ACCEPTED = 2  # signing secrets: the current one and the previous one
DIGEST_KEYS = "digest_keys"
ALWAYS = datetime(1, 1, 1, tzinfo=UTC)  # when the first key began
FIRST = 1  # the number of the first digest key, whose digests have no mark


class _Cached:
    """A function's last result, remembered for a while. If a renewal fails, the old result remains in use.

    `begin` calls the function early, in its own thread. If that call fails, the first reader of the result calls again.
    """

    def __init__(self, load: Callable[[], Mapping[str, Any]]) -> None:
        self._load = load
        self._result: Mapping[str, Any] | None = None
        self._until = 0.0
        self._early: Thread | None = None
        self.cache_clear = self._clear  # functools' name, so that code that clears every cache clears this one as well

    def __call__(self) -> Mapping[str, Any]:
        if self._result is None:
            return self._renew()
        # Wall-clock time, because a monotonic clock may stop while Lambda freezes the process.
        if not 0 < self._until - (now := clock.now().timestamp()) <= REMEMBERED_S:
            began = time.monotonic()
            self._until = now + RETRY_S  # set before the call, so that only one thread calls
            with suppress(CallError, ServiceError):  # ServiceError: no time is left for the call
                return self._renew()
            _spend_since(began)
        return self._result

    def begin(self) -> None:
        """Begin the first call early, with one attempt."""
        self._early = Thread(target=self._call_early, daemon=True)
        self._early.start()

    def _call_early(self) -> None:
        try:
            with aws_retries.limit_lost_time(aws_retries.HURRIED.longest):
                self._renew()
        except Exception as failure:  # noqa: BLE001  the first request meets the failure again and reports it
            log("secret_not_fetched_early", error=type(failure).__name__)

    def wait(self) -> None:
        """Wait for the early call, if there is one. After a failure this time counts as lost."""
        early, self._early = self._early, None
        if early and self._result is None:
            began = time.monotonic()
            early.join(aws_retries.HURRIED_SECRET.longest)
            if self._result is None:
                _spend_since(began)

    def _renew(self) -> Mapping[str, Any]:
        result = self._load()
        self._result = result
        self._until = clock.now().timestamp() + REMEMBERED_S
        return result

    def _clear(self) -> None:
        self._result = None


def _spend_since(began: float) -> None:
    """Count a wait for the secret as lost time, at most the planned wait: its excess must not prevent a call."""
    aws_retries.spend(min(time.monotonic() - began, aws_retries.HURRIED_SECRET.longest))


def fetch_early() -> None:
    """Begin to fetch the documents before the first request needs them."""
    document.begin()


def keyed_digest(secret: Secret) -> str:
    """Return the HMAC-SHA-256, in hex after the mark of its key, under which a credential is stored and compared.

    A dictionary of likely credentials could reverse a plain SHA-256. It cannot reverse this digest without the key.
    """
    number = _current()
    return _mark(number) + _hmac(number, secret.reveal())


def lasting_digest(secret: Secret) -> str:
    """Return the digest under the first key of the stage, which no rotation changes.

    It is for texts that a known key does not help to guess, and for IDs: a new one would let a request act twice.
    """
    return _hmac(FIRST, secret.reveal())


def is_digest_of(digest: str, secret: Secret) -> bool:
    """Return whether a stored digest is the secret's. The time does not depend on the answer.

    Raise 903 for a digest of a key that this process does not know: during an outage it has not read the newest one.
    """
    number = number_of(digest)
    if number not in _numbers():
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)
    return hmac.compare_digest(digest, _mark(number) + _hmac(number, secret.reveal()))


def number_of(digest: str) -> int:
    """Return the number of the key that made a digest."""
    mark, dot, _ = digest.partition(".")
    return int(mark) if dot and mark.isdecimal() else FIRST


def pseudonym(kind: str, text: str, *, at: datetime | None = None) -> str:
    """Return a short keyed digest that replaces a text in places where the text must not be: in logs and keys.

    Each kind has its own digests, so a pseudonym from one place cannot be looked up in another. `at` chooses the key of
    that time: a counter has one name, even if a new key begins meanwhile.
    """
    return _pseudonym(_current(at), kind, text)


def pseudonyms(kind: str, text: str) -> set[str]:
    """Return the pseudonyms that a text has under every key of the stage."""
    return {_pseudonym(number, kind, text) for number in _numbers()}


def _pseudonym(number: int, kind: str, text: str) -> str:
    return _hmac(number, f"{kind}\0{text}")[:PSEUDONYM_LENGTH]


def card_digest(transaction_id: str, pan: Secret) -> str:
    """Return the digest of a payment's card. The same card has another digest in every other payment."""
    return _card_digest(_current(), transaction_id, pan)


def card_digests(transaction_id: str, pan: Secret) -> Collection[str]:
    """Return every form in which the digest of a payment's card may be stored."""
    return in_every_form(_card_digest(number, transaction_id, pan) for number in _numbers())


def _card_digest(number: int, transaction_id: str, pan: Secret) -> str:
    text = f"card\x1f{transaction_id}\x1f{pan.reveal()}"
    return _mark(number) + _hmac(number, text)[:CARD_DIGEST_LENGTH]


def card_identities(pan: Secret) -> tuple[str, ...]:
    """Return the digests of a card's number for fingerprints, that of the current key first."""
    numbers = sorted(_numbers(), key=_current().__ne__)
    return tuple(_mark(number) + _hmac(number, f"pan:{pan.reveal()}") for number in numbers)


def wrapped(digest: str, number: int) -> str:
    """Return a digest of a card's number inside the digests of all later keys up to this one.

    Nobody can test card numbers with the earlier key then, and the service can still compare them with all keys.
    """
    for one in range(number_of(digest) + 1, number + 1):
        digest = _mark(one) + _hmac(one, f"wrapped\x1f{digest}")[:CARD_DIGEST_LENGTH]
    return digest


def in_every_form(digests: Iterable[str]) -> Collection[str]:
    """Return digests of a card's number, with the forms that they have inside the digests of later keys."""
    return {wrapped(digest, number) for digest in digests for number in (0, *_numbers())}


def _digest_keys() -> Sequence[Mapping[str, str]]:
    keys: Sequence[Mapping[str, str]] = _document()[DIGEST_KEYS]
    return keys


def _numbers() -> range:
    return range(FIRST, FIRST + len(_digest_keys()))


def _current(at: datetime | None = None) -> int:
    """Return the number of the key that makes digests at a time, now unless given."""
    moment = at or clock.now()
    begun = (number for number, key in enumerate(_digest_keys(), FIRST) if _begins(key) <= moment)
    return max(begun, default=FIRST)


def _begins(key: Mapping[str, str]) -> datetime:
    return datetime.fromisoformat(key["since"]) if "since" in key else ALWAYS


def _mark(number: int) -> str:
    return "" if number == FIRST else f"{number}."


def _hmac(number: int, text: str) -> str:
    key = _digest_keys()[number - FIRST]["key"]
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def signing() -> tuple[Secret, ...]:
    """Return the secrets that may sign a JSON web token, the current one first; none before the first rotation."""
    return tuple(Secret(text) for text in _document().get("signing", ())[:ACCEPTED])


def partner(product: str) -> Secret | None:
    """Return the secret shared with the partner of a product; None if none is registered."""
    text = _document().get("partners", {}).get(product)
    return Secret(text) if text else None


def client_certificate() -> Secret | None:
    """Return our certificate and its key, in PEM, for the host of the acquirer ISO8583; None if there is none."""
    found = _document().get("iso8583")
    return Secret(f"{found['certificate']}\n{found['key']}\n") if found else None


def seal(secret: Secret, owner_id: int, owner: str = "agent") -> bytes:
    """Encrypt the secret of an agent or webhook. Only the stage's KMS key decrypts it, and only for this owner."""
    text = b64encode(secret.reveal().encode()).decode()
    return b64decode(_with_key("Encrypt", {owner: str(owner_id)}, Plaintext=text)["CiphertextBlob"])


def unseal(sealed: bytes, owner_id: int, owner: str = "agent") -> Secret:
    """Decrypt a secret that was encrypted for this agent or webhook."""
    answer = _with_key("Decrypt", {owner: str(owner_id)}, CiphertextBlob=b64encode(sealed).decode())
    return Secret(b64decode(answer["Plaintext"]).decode())


def _with_key(operation: str, context: dict[str, str], **content: str) -> dict[str, Any]:
    return with_retries(
        lambda: _kms_client().call(operation, KeyId=settings().key_id, EncryptionContext=context, **content)
    )


def _document() -> Mapping[str, Any]:
    document.wait()  # before the aws_retries, which count their own time
    return with_retries(document)


def _load_document() -> Mapping[str, Any]:
    """Fetch both documents at the same time, and return them as one."""
    client, results = _secrets_client(), list[str | CallError]()

    def fetch_keys() -> None:
        try:
            results.append(_fetch(client, settings().digest_secret_id))
        except CallError as failure:
            results.append(failure)

    fetching = Thread(target=fetch_keys, daemon=True)
    fetching.start()
    found = _fetch(client, settings().secret_id)
    fetching.join()
    (keys,) = results
    if isinstance(keys, CallError):
        raise keys
    return _read(found, keys)


def _fetch(client: Client, secret_id: str) -> str:
    return str(client.call("GetSecretValue", SecretId=secret_id)["SecretString"])


def _read(document: str, keys: str) -> Mapping[str, Any]:
    """Return both documents as one. Raise UnreadableError after a wrong change by hand: it is no defect of ours."""
    try:
        found, known = json.loads(document), json.loads(keys).get(DIGEST_KEYS)
        known = known or ({"key": found["digest_key"]},)
        if all(key["key"].strip() and _begins(key) >= ALWAYS for key in known):
            return {**found, DIGEST_KEYS: known}
        reason = "empty"
    except MALFORMED as problem:
        reason = type(problem).__name__
    log("unreadable", table="secrets", record=None, reason=reason)
    raise UnreadableError(reason)  # without the error before it, which has the text


document = _Cached(_load_document)


def _secrets_client() -> Client:
    return _secrets_client_of(aws_retries.limits(aws_retries.HURRIED_SECRET))


@cache
def _secrets_client_of(limits: Limits) -> Client:
    return Client(SECRETS_MANAGER, limits)


@cache
def _kms_client() -> Client:
    return Client(KMS, aws_retries.PATIENT)
