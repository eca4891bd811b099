"""The stage's secrets: credentials are digested under one (Secrets Manager), secret keys sealed under another (KMS).

The secret of the stage is JSON, `{"digest_key": text, "signing": [current, previous], "partners": {product: text}}`.
`signing`, which JSON web tokens are signed with, appears when an operator first rotates it; `partners`, which questions
to partners are signed with, when the first one is registered.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.domain.secret import Secret
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.settings import settings

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

T = TypeVar("T")

REMEMBERED_S = 300  # how long a rotation may take to reach every process
TRIED_AGAIN_S = 10  # after a failure, while what is remembered is still good
ACCEPTED = 2  # signing secrets: the current one and the one before


class _Remembered:
    """What a function answered, for a while; when asking again fails, what it answered last."""

    def __init__(self, ask: Callable[[], Mapping[str, Any]]) -> None:
        self._ask = ask
        self._answer: Mapping[str, Any] | None = None
        self._until = 0.0
        self.cache_clear = self._forget  # the name functools gives it: whoever empties caches finds this one too

    def __call__(self) -> Mapping[str, Any]:
        if self._answer is None:
            return self._renew()
        if time.monotonic() >= self._until:
            self._until = time.monotonic() + TRIED_AGAIN_S  # first, so that one thread asks and the others go on
            with suppress(ClientError, BotoCoreError):
                return self._renew()
        return self._answer

    def _renew(self) -> Mapping[str, Any]:
        answer = self._ask()
        self._answer = answer
        self._until = time.monotonic() + REMEMBERED_S
        return answer

    def _forget(self) -> None:
        self._answer = None


def keyed_digest(secret: Secret) -> str:
    """What a secret of ours is kept and compared as: no dictionary reverses it without the stage's key."""
    return hmac.new(_kept()["digest_key"].encode(), secret.reveal().encode(), hashlib.sha256).hexdigest()


def signing() -> tuple[Secret, ...]:
    """What a token may be signed with, current first; empty until an operator made one."""
    return tuple(Secret(text) for text in _kept().get("signing", ())[:ACCEPTED])


def rotate_signing(new: Secret | None = None) -> Secret:
    """Make a new signing secret current (random unless given); the one before stays accepted until the next rotation.

    Every process accepts it within `REMEMBERED_S`: sign with it after that.
    """
    new = new or Secret(secrets.token_urlsafe(48))
    before = _ask()
    _keep({**before, "signing": [new.reveal(), *before.get("signing", ())][:ACCEPTED]})
    return new


def partner(product: str) -> Secret | None:
    """What the partner of a product knows us by; None until an operator kept one."""
    text = _kept().get("partners", {}).get(product)
    return Secret(text) if text else None


def rotate_partner(product: str, new: Secret | None = None) -> Secret:
    """Sign what the partner of this product is asked with a new secret (random unless given).

    Processes change to it within `REMEMBERED_S`: so long the partner accepts the one before as well.
    """
    new = new or Secret(secrets.token_urlsafe(48))
    before = _ask()
    _keep({**before, "partners": {**before.get("partners", {}), product: new.reveal()}})
    return new


def seal(secret: Secret, agent_id: int) -> bytes:
    """A secret as it may be kept: only the stage's key opens it, and only as this agent's."""
    return _asked(
        lambda: _client_of_keys().encrypt(
            KeyId=settings().key_id, Plaintext=secret.reveal().encode(), EncryptionContext=_context(agent_id)
        )["CiphertextBlob"]
    )


def unseal(sealed: bytes, agent_id: int) -> Secret:
    """The secret that was sealed for this agent."""
    opened = _asked(
        lambda: _client_of_keys().decrypt(
            KeyId=settings().key_id, CiphertextBlob=sealed, EncryptionContext=_context(agent_id)
        )["Plaintext"]
    )
    return Secret(opened.decode())


def _context(agent_id: int) -> dict[str, str]:
    return {"agent": str(agent_id)}


def _asked(ask: Callable[[], T]) -> T:
    """What was asked; 903 when it is out of reach."""
    try:
        return ask()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise  # refused: a defect of ours or of the stage
        raise _out_of_reach() from error
    except BotoCoreError as error:
        raise _out_of_reach() from error


def _out_of_reach() -> ServiceError:
    return ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY)


def _kept() -> Mapping[str, Any]:
    return _asked(document)


def _ask() -> Mapping[str, Any]:
    answer = _client_of_secrets().get_secret_value(SecretId=settings().secret_id)
    parsed: Mapping[str, Any] = json.loads(answer["SecretString"])
    return parsed


def _keep(kept: Mapping[str, Any]) -> None:
    _client_of_secrets().put_secret_value(SecretId=settings().secret_id, SecretString=json.dumps(kept))
    document.cache_clear()


document = _Remembered(_ask)

_CONFIG = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3})


@cache
def _client_of_secrets() -> "SecretsManagerClient":
    return boto3.client("secretsmanager", config=_CONFIG)


@cache
def _client_of_keys() -> "KMSClient":
    return boto3.client("kms", config=_CONFIG)
