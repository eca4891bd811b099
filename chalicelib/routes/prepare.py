"""Preparing a payment."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.prepare import PrepareAnswer, PreparePayment, prepare_answer
from chalicelib.services import prepare as service


def prepare(body: PreparePayment, caller: Caller) -> PrepareAnswer:
    """Have the fields of a product filled in by the partner that sells it."""
    return prepare_answer(service.prepare(body, caller, datetime.now(UTC)))
