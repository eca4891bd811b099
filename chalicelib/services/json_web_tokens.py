"""JSON Web Tokens (JWT), HS256: the credential in a token that a secret of the stage signed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from chalicelib.domain.sign_in import Credential, credential
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets

LATEST = 253402300800  # seconds since 1970, the end of the year 9999
# Of the registered claims, only `exp` and `nbf` are checked if present, by the service's clock: PyJWT has its own. The
# interface has no rule for the others.
OPTIONS = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_aud": False,
    "verify_iat": False,
    "verify_iss": False,
    "verify_jti": False,
    "verify_sub": False,
}


def credential_of(token: str, now: datetime) -> Credential:
    """Return the credential in a token.

    Raise TOKEN_INVALID when no signing secret of the stage signed it, it has expired, or its payload is wrong.
    """
    for key in secrets.signing():
        parts = _verified(token, key.reveal(), now)
        if parts is not None:
            return _credential(**parts)
    raise ServiceError(ErrorCode.TOKEN_INVALID)


def _verified(token: str, key: str, now: datetime) -> dict[str, dict[str, Any]] | None:
    """Return header and payload if the token is signed with this key and valid. It never chooses the algorithm."""
    import jwt  # noqa: PLC0415  only this scheme needs its slow import

    try:
        parts = jwt.decode_complete(token, key, algorithms=["HS256"], options=OPTIONS)  # type: ignore[arg-type]
        claims, seconds = parts["payload"], now.timestamp()
        if int(claims.get("nbf", 0)) > seconds or int(claims.get("exp", LATEST)) <= seconds:
            return None
    # PyJWT does not catch the other errors, which come from extreme numbers and nesting.
    except (jwt.PyJWTError, ArithmeticError, TypeError, ValueError, RecursionError):
        return None
    return {"header": parts["header"], "payload": parts["payload"]}


def _credential(header: dict[str, Any], payload: dict[str, Any]) -> Credential:
    kind = header.get("typ", header.get("type"))
    email, token = payload.get("email"), payload.get("token")
    if not isinstance(kind, str) or kind.upper() != "JWT" or not isinstance(email, str) or not isinstance(token, str):
        raise ServiceError(ErrorCode.TOKEN_INVALID)
    expires = payload.get("exp")
    ends = datetime.fromtimestamp(int(expires), UTC) if expires is not None and int(expires) < LATEST else None
    return replace(credential(email, token), ends_at=ends)
