"""Prepare a payment."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.prepare import PrepareAnswer, PreparePayment
from chalicelib.services import prepare as service


def prepare(body: PreparePayment, caller: Caller) -> PrepareAnswer:
    """Let a product's partner fill in the product's fields before a payment."""
    return PrepareAnswer.of(service.prepare(body, caller, outside.now()))
