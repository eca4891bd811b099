"""The health check: of the store, and of the whole stage from outside."""

from chalicelib.settings import settings
from chalicelib.store import agents, merchants, sequences, sessions, terminals, transactions
from chalicelib.store.table import check_tables


def check_store() -> None:
    """Read each table that a payment reads: one call, seven read units. Raise 903 when a table does not answer."""
    check_tables(
        [
            sequences.sequence_key(merchants.TABLE),
            merchants.key(0),
            terminals.key(0),
            agents.key(0),
            agents.login_key("-"),
            sessions.key("-"),
            transactions.key("-"),
        ]
    )


LOOK_SECONDS = 20.0


def look_from_outside() -> None:
    """Ask for the health of the stage at its public address, as a till does. Raise an error unless the answer is 200.

    So the look needs the name, the certificate, API Gateway, the API's function and the store.
    """
    from chalicelib.gateways import https  # noqa: PLC0415  the API does not look

    address = settings().public_address
    if address:  # the local stage has none
        https.check(f"{address}/api/v1/health?deep=1", LOOK_SECONDS)
