"""The price list of a merchant: show it, and replace it as a whole."""

from dataclasses import dataclass, replace
from datetime import datetime

from chalicelib import iso_codes
from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.price_list import PriceList, former_after
from chalicelib.errors import ErrorCode, ServiceError, invalid
from chalicelib.schemas.price_list import PriceListQuery, UpdatePriceList
from chalicelib.services.caller_check import admit
from chalicelib.services.merchants import require_merchant
from chalicelib.store import merchants, price_lists
from chalicelib.store.audit import Act
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import read


@dataclass(frozen=True)
class Listed:
    """A price list (None: there is none yet), and the zone of its merchant in hours."""

    price_list: PriceList | None
    gmt: int


def get(body: PriceListQuery, caller: Caller, merchant_id: int) -> Listed | None:
    """Return the price list for any agent of the merchant; None when the caller knows the current version.

    The merchant's record tells the version, so a list that did not change is not read.
    """
    admitted = admit(caller, merchants.key(merchant_id))
    permissions.check_can_see_price_list(admitted.agent, merchant_id)
    merchant = require_merchant(admitted, merchant_id)
    if body.version == merchant.price_list_version:
        return None

    stored = read(price_lists.key(merchant_id))
    if body.version == (stored.version if stored else 0):
        return None
    return Listed(stored, merchant.gmt)


def update(body: UpdatePriceList, caller: Caller, merchant_id: int, now: datetime) -> Listed:
    """Replace the price list. Raise PRICE_LIST_CHANGED when its version is not the one that the caller knows.

    A repeated request whose answer was lost gets the list that it stored.
    """

    def attempt() -> Listed:
        admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
        permissions.check_can_manage(admitted.agent, merchant_id)
        merchant = require_merchant(admitted, merchant_id)
        currency = iso_codes.currency(merchant.currency_id) if merchant.currency_id else None
        if findings := body.findings(currency):
            raise invalid(*findings)
        body.check_readable()

        before = read(price_lists.key(merchant_id))
        at = max(now, before.updated_at) if before else now  # clocks differ by seconds, and lists have an order
        sent = PriceList(merchant_id, body.version + 1, at, caller.agent_id, **body.to_domain(currency))
        if before and before == replace(sent, updated_at=before.updated_at, former=before.former):
            return Listed(before, merchant.gmt)
        if body.version != (before.version if before else 0):
            raise ServiceError(ErrorCode.PRICE_LIST_CHANGED)
        new = replace(sent, former=former_after(sent, merchant.taxes, before.former if before else ()))
        price_lists.put(new, merchant, Act("update", caller.agent_id, now))
        return Listed(new, merchant.gmt)

    return retry_on_change(attempt)
