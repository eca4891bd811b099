"""The answers of Stripe that are errors."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from chalicelib.domain.acquirer import AnswerLostError
from chalicelib.log import log
from chalicelib.settings import STRIPE

MOST_CODE = 60  # characters of a code in the log
REFUSES_US = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class ServerFailedError(AnswerLostError):
    """Stripe answered with a status of 500 or more: the request may have had an effect."""


class RefusedError(Exception):
    """Stripe refused a request, so it had no effect: the HTTP status (4xx, but not 409) and the error of the answer."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        super().__init__(f"refused with status {status}")
        self.status = status
        self.error = error

    @property
    def is_passing(self) -> bool:
        """Return whether it says nothing about the request: our key is refused, or there are too many requests."""
        return self.status in REFUSES_US or self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def is_of_card(self) -> bool:
        """Return whether the card is declined or wrong."""
        return self.status == HTTPStatus.PAYMENT_REQUIRED or self.error.get("type") == "card_error"

    @property
    def is_of_used_key(self) -> bool:
        """Return whether an earlier request had this idempotency key, with other content."""
        return self.error.get("type") == "idempotency_error"

    def tell(self) -> None:
        """Log that Stripe refuses us, which only the operator can change. An alarm counts these lines."""
        facts = {name: str(self.error.get(name))[:MOST_CODE] for name in ("type", "code", "param")}
        log("acquirer_refuses_us", acquirer=STRIPE, status=self.status, **facts)
