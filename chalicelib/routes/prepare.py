"""Prepare: the fields of a product, filled in before it is paid."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.payments import PrepareAnswer, PreparePayment
from chalicelib.services import prepare as service


def prepare(body: PreparePayment, caller: Caller) -> PrepareAnswer:
    """Have the fields of a product filled in by the partner that sells it."""
    return PrepareAnswer.of(service.prepare(body, caller, datetime.now(UTC)))
