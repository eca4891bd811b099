"""The health check: of the store, and of the whole stage from outside."""

import json
from http import HTTPStatus
from typing import Any

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.settings import settings
from chalicelib.store import agents, merchants, sequences, sessions, terminals, transactions
from chalicelib.store.aws_client import RefusedError
from chalicelib.store.table import Key, read_all


def check_store() -> None:
    """Read each table that a payment reads: one call, seven read units. Raise 903 when a table does not answer."""
    keys: list[Key[Any]] = [
        sequences.sequence_key(merchants.TABLE),
        merchants.key(0),
        terminals.key(0),
        agents.key(0),
        agents.login_key("-"),
        sessions.key("-"),
        transactions.key("-"),
    ]
    try:
        read_all(keys)
    except RefusedError:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from None


LOOK_SECONDS = 14.0  # for each of two requests
MALFORMED = "Basic ?"  # no base64: it names no login, so it counts no attempt
REFUSALS = {error.code for error in (ErrorCode.BAD_CREDENTIAL, ErrorCode.SCHEME_DISABLED)}


class LookError(Exception):
    """The stage did not answer as it should. The message names the status."""


def probe_health() -> None:
    """Ask for the health of the stage at its public address, as a till does. Then show it a malformed credential.

    Raise an error unless the answers are 200, and 401 with the envelope of a refusal. So the probe needs the name, the
    certificate, API Gateway, the API's function, the store and the authorizer, which stays warm.
    """
    from chalicelib.gateways import https  # noqa: PLC0415  the API does not probe itself

    address = settings().public_address
    if not address:  # the local stage has none
        return
    healthy = https.get(f"{address}/api/v1/health?deep=1", LOOK_SECONDS, {})
    if healthy.status != HTTPStatus.OK:
        message = f"the status of health is {healthy.status}"
        raise LookError(message)
    refused = https.get(f"{address}/api/v1/user/me", LOOK_SECONDS, {"Authorization": MALFORMED})
    if refused.status != HTTPStatus.UNAUTHORIZED or json.loads(refused.body).get("ErrorCode") not in REFUSALS:
        message = f"a malformed credential is answered with the status {refused.status}"
        raise LookError(message)
