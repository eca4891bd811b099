"""The health check of the store."""

from chalicelib.store import agents, merchants, sequences, sessions, transactions
from chalicelib.store.table import check_tables


def check_store() -> None:
    """Read each table that a payment reads: one call, seven read units. Raise 903 when a table does not answer."""
    check_tables(
        [
            sequences.sequence_key(merchants.TABLE),
            merchants.key(0),
            merchants.terminal_key(0),
            agents.key(0),
            agents.login_key("-"),
            sessions.key("-"),
            transactions.key("-"),
        ]
    )
