"""The secrets of the stage: a document in Secrets Manager, digests under its key, and a KMS key.

The KMS key seals the secrets of agents and webhooks. Digests stand for credentials, logins and addresses.

The document is JSON: `{"digest_key": text, "signing": [current, previous], "partners": {product: text}, "iso8583":
{"certificate": PEM, "key": PEM}, "stripe": text}`. `signing` signs JSON web tokens; it is absent until an operator
first rotates it. `partners` signs the requests to partners; it is absent until the first one is registered. `iso8583`
is our certificate for the host of that acquirer; it is absent if the host does not require one. `stripe` is the key of
our account there. The operator's commands write it, with entries of their own that no function reads.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread
from typing import Any

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.errors import ServiceError
from chalicelib.log import log
from chalicelib.settings import settings
from chalicelib.store import aws_client
from chalicelib.store.aws_client import HURRIED, HURRIED_SECRET, CallError, Client, Limits, limit_lost_time
from chalicelib.store.table import MALFORMED, UnreadableError

REMEMBERED_S = 300  # the time after which a rotation has reached every process
RETRY_S = 10  # after a failed read, while the remembered document is used
PSEUDONYM_LENGTH = 24  # hex digits, 96 bits: no two texts of a stage share a pseudonym
ACCEPTED = 2  # signing secrets: the current one and the previous one


class Remembered:
    """A function's last result, remembered for a while. If a renewal fails, the old result remains in use.

    `begin` calls the function early, in its own thread. If that call fails, the first reader of the result calls again.
    """

    def __init__(self, load: Callable[[], Mapping[str, Any]]) -> None:
        self._load = load
        self._result: Mapping[str, Any] | None = None
        self._until = 0.0
        self._early: Thread | None = None

    def __call__(self) -> Mapping[str, Any]:
        """Return the result."""
        if self._result is None:
            return self._renew()
        # Wall-clock time, because a monotonic clock may stop while Lambda freezes the process.
        if not 0 < self._until - (now := outside.now().timestamp()) <= REMEMBERED_S:
            began = outside.current.elapsed()
            self._until = now + RETRY_S  # set before the call, so that only one thread calls
            with suppress(CallError, ServiceError), limit_lost_time(HURRIED.longest):  # one attempt
                return self._renew()
            _spend_since(began)
        return self._result

    def begin(self) -> None:
        """Begin the first call early, with one attempt."""
        self._early = Thread(target=self._call_early, daemon=True)
        self._early.start()

    def _call_early(self) -> None:
        try:
            with limit_lost_time(HURRIED.longest):
                self._renew()
        except Exception as failure:  # noqa: BLE001  the first request meets the failure again and reports it
            log("secret_not_fetched_early", error=type(failure).__name__)

    def wait(self) -> None:
        """Wait for the early call, if there is one. After a failure this time counts as lost."""
        early, self._early = self._early, None
        if early and self._result is None:
            began = outside.current.elapsed()
            early.join(HURRIED_SECRET.longest)
            if self._result is None:
                _spend_since(began)

    def _renew(self) -> Mapping[str, Any]:
        result = self._load()
        self._result = result
        self._until = outside.now().timestamp() + REMEMBERED_S
        return result

    def forget(self) -> None:
        """Fetch the result again at its next use."""
        self._result = None


def _spend_since(began: float) -> None:
    """Count a wait for the secret as lost time, at most the planned wait: its excess must not prevent a call."""
    aws_client.spend(min(outside.current.elapsed() - began, HURRIED_SECRET.longest))


def fetch_early() -> None:
    """Begin to fetch the document before the first request needs them."""
    remembered().begin()


def keyed_digest(secret: Secret) -> str:
    """Return the HMAC-SHA-256, in hex, under which a credential is stored and compared.

    A dictionary of likely credentials could reverse a plain SHA-256. It cannot reverse this digest without the key.
    """
    return _hmac(secret.reveal())


def is_digest_of(digest: str, secret: Secret) -> bool:
    """Return whether a stored digest is the secret's. The time does not depend on the answer."""
    return hmac.compare_digest(digest, keyed_digest(secret))


def pseudonym(kind: str, text: str) -> str:
    """Return a short keyed digest that replaces a text in places where the text must not be: in logs and keys.

    Each kind has its own digests, so a pseudonym from one place cannot be looked up in another.
    """
    return _hmac(f"{kind}\0{text}")[:PSEUDONYM_LENGTH]


def _hmac(text: str) -> str:
    return hmac.new(_document()["digest_key"].encode(), text.encode(), hashlib.sha256).hexdigest()


def signing() -> tuple[Secret, ...]:
    """Return the secrets that may sign a JSON web token, the current one first; none before the first rotation."""
    return tuple(Secret(text) for text in _document().get("signing", ())[:ACCEPTED])


def partner(product: str) -> Secret | None:
    """Return the secret shared with the partner of a product; None if none is registered."""
    text = _document().get("partners", {}).get(product)
    return Secret(text) if text else None


def stripe_key() -> Secret | None:
    """Return the key of our account at the acquirer STRIPE; None if none is stored."""
    text = _document().get("stripe")
    return Secret(text) if text else None


def client_certificate() -> Secret | None:
    """Return our certificate and its key, in PEM, for the host of the acquirer ISO8583; None if there is none."""
    found = _document().get("iso8583")
    return Secret(f"{found['certificate']}\n{found['key']}\n") if found else None


def seal(secret: Secret, owner_id: int, owner: str = "agent") -> bytes:
    """Encrypt the secret of an agent or webhook. Only the stage's KMS key decrypts it, and only for this owner."""
    answer = _with_key("Encrypt", {owner: str(owner_id)}, Plaintext=secret.reveal().encode())
    sealed: bytes = answer["CiphertextBlob"]
    return sealed


def unseal(sealed: bytes, owner_id: int, owner: str = "agent") -> Secret:
    """Decrypt a secret that was encrypted for this agent or webhook."""
    return Secret(_with_key("Decrypt", {owner: str(owner_id)}, CiphertextBlob=sealed)["Plaintext"].decode())


def _with_key(operation: str, context: dict[str, str], **content: bytes) -> dict[str, Any]:
    with aws_client.outages_as_903():
        return _kms_client().call(operation, KeyId=settings().key_id, EncryptionContext=context, **content)


def _document() -> Mapping[str, Any]:
    document = remembered()
    document.wait()
    with aws_client.outages_as_903():
        return document()


def _load_document() -> Mapping[str, Any]:
    """Fetch the document. Raise UnreadableError after a wrong change by hand: it is no defect of ours."""
    text = (outside.current.secret or fetch)(settings().secret_id)
    try:
        found: Mapping[str, Any] = json.loads(text)
        if found["digest_key"].strip():
            return found
        reason = "empty"
    except MALFORMED as problem:
        reason = type(problem).__name__
    log("unreadable", table="secrets", record=None, reason=reason)
    raise UnreadableError(reason)  # without the error before it, which has the text


@outside.made_once
def remembered() -> Remembered:
    """Return the document of the stage's secret, which this process remembers."""
    return Remembered(_load_document)


def fetch(secret_id: str) -> str:
    """Fetch the text of a secret."""
    client = _secrets_client_of(aws_client.limits(HURRIED_SECRET))
    return str(client.call("GetSecretValue", SecretId=secret_id)["SecretString"])


@outside.made_once
def _secrets_client_of(limits: Limits) -> Client:
    return outside.current.client(aws_client.SECRETS_MANAGER, limits)


@outside.made_once
def _kms_client() -> Client:
    return outside.current.client(aws_client.KMS, aws_client.PATIENT)
