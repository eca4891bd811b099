"""The query string of the health check."""

from pydantic import Field

from chalicelib.schemas.base import Request, State


class HealthQuery(Request):
    """Without `deep` nothing but the function itself is looked at."""

    deep: State = Field(0, alias="deep")
