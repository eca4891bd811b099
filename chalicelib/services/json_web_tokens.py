"""JSON web tokens: a Basic credential in a signed envelope."""

from typing import Any

from chalicelib.domain.credential import Credential, credential
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets

# Of the registered claims only `exp` and `nbf` are checked, if present; the interface has no rule for the others.
OPTIONS = {"verify_aud": False, "verify_iat": False, "verify_iss": False, "verify_jti": False, "verify_sub": False}


def credential_of(token: str) -> Credential:
    """Return the credential in a token.

    Raise TOKEN_INVALID when it is not signed with a signing secret of the stage, is expired, or has another payload.
    """
    for key in secrets.signing():
        parts = _verified(token, key.reveal())
        if parts is not None:
            return _credential(**parts)
    raise ServiceError(ErrorCode.TOKEN_INVALID)


def _verified(token: str, key: str) -> dict[str, dict[str, Any]] | None:
    """Return header and payload if the token is signed with this key. The token never chooses the algorithm."""
    import jwt  # noqa: PLC0415  only this scheme pays for its import

    try:
        parts = jwt.decode_complete(token, key, algorithms=["HS256"], options=OPTIONS)  # type: ignore[arg-type]
    # The others come from extreme numbers and nesting, which the library does not catch.
    except (jwt.PyJWTError, ArithmeticError, TypeError, ValueError, RecursionError):
        return None
    return {"header": parts["header"], "payload": parts["payload"]}


def _credential(header: dict[str, Any], payload: dict[str, Any]) -> Credential:
    kind = header.get("typ", header.get("type"))
    email, token = payload.get("email"), payload.get("token")
    if not isinstance(kind, str) or kind.upper() != "JWT" or not isinstance(email, str) or not isinstance(token, str):
        raise ServiceError(ErrorCode.TOKEN_INVALID)
    return credential(email, token)
