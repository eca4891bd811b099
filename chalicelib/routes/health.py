"""Health: whether the service answers, for balancers and canaries."""

from chalicelib.schemas.base import Answer
from chalicelib.schemas.health import HealthQuery
from chalicelib.services import access


def check(body: HealthQuery) -> Answer:
    """Answer that the service is up; with `deep=1` once it has read from the store, else 503/903."""
    if body.deep:
        access.check_store()
    return Answer()
