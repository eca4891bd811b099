"""JSON web tokens: a Basic credential in a signed envelope."""

from typing import Any

from chalicelib.domain.credential import Credential, credential
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets

# `exp` and `nbf` hold when they are there; nothing else of the payload is a rule of this interface.
OPTIONS = {"verify_aud": False, "verify_iat": False, "verify_iss": False, "verify_jti": False, "verify_sub": False}


def credential_of(token: str) -> Credential:
    """The login and secret a token carries. 106 when it is not signed by us, is expired, or is no such token."""
    for key in secrets.signing():
        parts = _verified(token, key.reveal())
        if parts is not None:
            return _credential(**parts)
    raise ServiceError(ErrorCode.TOKEN_INVALID)


def _verified(token: str, key: str) -> dict[str, dict[str, Any]] | None:
    """Its header and payload when this key signed it. The algorithm is ours to say, never the token's."""
    import jwt  # noqa: PLC0415  nobody else shall pay for its import

    try:
        parts = jwt.decode_complete(token, key, algorithms=["HS256"], options=OPTIONS)  # type: ignore[arg-type]
    # The others come from absurd numbers and nesting, which the library does not catch.
    except (jwt.PyJWTError, ArithmeticError, TypeError, ValueError, RecursionError):
        return None
    return {"header": parts["header"], "payload": parts["payload"]}


def _credential(header: dict[str, Any], payload: dict[str, Any]) -> Credential:
    kind = header.get("typ", header.get("type"))
    email, token = payload.get("email"), payload.get("token")
    if not isinstance(kind, str) or kind.upper() != "JWT" or not isinstance(email, str) or not isinstance(token, str):
        raise ServiceError(ErrorCode.TOKEN_INVALID)
    return credential(email, token)
