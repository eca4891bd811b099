"""Merchants."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.merchant import Merchant
from chalicelib.schemas.merchants import CreateMerchant, MerchantAnswer, UpdateMerchant
from chalicelib.services import merchants, pictures


def create(body: CreateMerchant, caller: Caller) -> MerchantAnswer:
    """Create a merchant."""
    return _answer(merchants.create(body, caller, datetime.now(UTC)))


def update(merchant_id: int, body: UpdateMerchant, caller: Caller) -> MerchantAnswer:
    """Update a merchant."""
    return _answer(merchants.update(body, caller, merchant_id, datetime.now(UTC)))


def _answer(merchant: Merchant) -> MerchantAnswer:
    return MerchantAnswer.of(merchant, pictures.signed_url(merchant.avatar_key))
