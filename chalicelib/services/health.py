"""The health of what the service depends on."""

from chalicelib.store import sequences


def check_store() -> None:
    """Read one record, strongly: one read unit. Raise 903 when the store does not answer."""
    sequences.last_id("merchants")
