"""Merchants with their price lists, and agents (POS users)."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.agents import (
    BulkAnswer,
    BulkUpdate,
    CreateAgent,
    ListAgents,
    PosAnswer,
    PosListAnswer,
    PosView,
    UpdateAgent,
    welcome_warning,
)
from chalicelib.schemas.base import Headers
from chalicelib.schemas.merchants import (
    CreateMerchant,
    ListMerchants,
    MerchantAnswer,
    MerchantListAnswer,
    MerchantView,
    UpdateMerchant,
)
from chalicelib.schemas.price_list import PriceListAnswer, PriceListQuery, PriceListView, UpdatePriceList
from chalicelib.schemas.request_context import ZoneQuery
from chalicelib.services import agents, merchant_search, merchants, price_lists


def create_merchant(body: CreateMerchant, caller: Caller, headers: Headers) -> MerchantAnswer:
    """Create a merchant with its terminal groups."""
    made = merchants.create(body, caller, outside.now(), key=headers.idempotency_key)
    warning = welcome_warning(withheld=made.withheld)
    return MerchantAnswer(merchant=MerchantView.of(made.record), validations=warning, headers=made.headers)


def list_merchants(body: ListMerchants, caller: Caller) -> MerchantListAnswer:
    """List and search merchants, the newest first, 100 per page."""
    return MerchantListAnswer.of(*merchant_search.list_page(body, caller))


def get_merchant(merchant_id: int, caller: Caller) -> MerchantAnswer:
    """Return a merchant with every field that an update takes."""
    return MerchantAnswer(merchant=MerchantView.of(merchants.get(caller, merchant_id)))


def update_merchant(merchant_id: int, body: UpdateMerchant, caller: Caller) -> MerchantAnswer:
    """Change the fields of a merchant that the request sets."""
    profile = merchants.update(body, caller, merchant_id, outside.now())
    return MerchantAnswer(merchant=MerchantView.of(profile))


def get_price_list(merchant_id: int, body: PriceListQuery, caller: Caller) -> PriceListAnswer:
    """Return the price list of a merchant, or null when the caller knows its version."""
    found = price_lists.get(body, caller, merchant_id)
    return PriceListAnswer(price_list=found and PriceListView.of(found.price_list, body.gmt, found.gmt))


def update_price_list(merchant_id: int, body: UpdatePriceList, caller: Caller) -> PriceListAnswer:
    """Replace the price list of a merchant as a whole."""
    stored = price_lists.update(body, caller, merchant_id, outside.now())
    return PriceListAnswer(price_list=PriceListView.of(stored.price_list, body.gmt, stored.gmt))


def create_agent(merchant_id: int, body: CreateAgent, caller: Caller, headers: Headers) -> PosAnswer:
    """Create an agent of a merchant, with its login."""
    now = outside.now()
    made = agents.create(body, caller, merchant_id, now, key=headers.idempotency_key)
    view, warning = PosView.of(made.record, now, body.gmt), welcome_warning(withheld=made.withheld)
    return PosAnswer(pos=view, validations=warning, headers=made.headers)


def get_agent(merchant_id: int, pos_id: int, body: ZoneQuery, caller: Caller) -> PosAnswer:
    """Return an agent with its secret key and its remembered sessions."""
    now = outside.now()
    return PosAnswer(pos=PosView.of(agents.get(caller, merchant_id, pos_id, now), now, body.gmt))


def update_agent(merchant_id: int, pos_id: int, body: UpdateAgent, caller: Caller) -> PosAnswer:
    """Change the fields of an agent that the request sets."""
    now = outside.now()
    return PosAnswer(pos=PosView.of(agents.update(body, caller, merchant_id, pos_id, now), now, body.gmt))


def update_agents(merchant_id: int, body: BulkUpdate, caller: Caller) -> BulkAnswer:
    """Change several agents of a merchant in one request."""
    return BulkAnswer.of(agents.update_bulk(body, caller, merchant_id, outside.now()))


def search_agents(merchant_id: int, body: ListAgents, caller: Caller) -> PosListAnswer:
    """Search the agents of a merchant, 100 per page."""
    now = outside.now()
    page, total = agents.search(body, caller, merchant_id, now)
    return PosListAnswer.of(page, total, now, body.gmt)
