"""List and search all merchants, for system users."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.agent_assignments import is_part_of_phone
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.paging import page_of
from chalicelib.schemas.field_types import is_email
from chalicelib.schemas.merchants import ListMerchants, MerchantProfile
from chalicelib.services.caller_check import admit
from chalicelib.services.merchants import profile_of
from chalicelib.store import agents, unique_names
from chalicelib.store.merchant_search import TerminalFacts, every_agent, every_merchant, every_terminal
from chalicelib.store.table import Key, read_all

LEAST_DIGITS = 4  # of a part of a telephone number: fewer are in nearly every one


def list_page(body: ListMerchants, caller: Caller) -> tuple[list[MerchantProfile], int]:
    """Return a page of the matching merchants, the newest first, and the number of all matches.

    The cost grows with the merchants and their terminals, for a part of an agent's e-mail or telephone also with the
    agents, and never with payments.
    """
    admitted = admit(caller, current_account_id=body.current_account_id)
    permissions.check_is_system_user(admitted.agent)
    body.check_readable()

    stored, terminals = every_merchant(), list(every_terminal())
    named = _named(body.search, stored, terminals) if body.search else set()
    found = [
        one
        for one in stored
        if body.state in (None, one.state) and (not body.search or one.id in named or _matches(one, body.search))
    ]
    newest_first = sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)
    numbers = Counter(one.client_id for one in terminals)
    only = {one.client_id: one.id for one in terminals if numbers[one.client_id] == 1}
    return [profile_of(one, only.get(one.id)) for one in page_of(newest_first, body.page)], len(found)


def _named(text: str, stored: Sequence[Merchant], terminals: Sequence[TerminalFacts]) -> set[int]:
    """Return the merchants whose number, agent's e-mail, TID or MID is the text; if there is none, those with a part.

    A whole e-mail, TID or MID is a key.
    """
    found = {one.id for one in stored if str(one.id) == text} | _with_key(text, stored)
    if found:
        return found
    searched = text.casefold()
    by_agent = (
        one.client_id
        for one in every_agent()
        if not one.deleted and (searched in one.email.casefold() or _is_phone(text, one.phone))
    )
    names = ((one.client_id, (one.tid, one.back_retailer_id or "")) for one in terminals)
    return {*by_agent, *(number for number, texts in names if any(searched in one.casefold() for one in texts))}


def _with_key(text: str, stored: Sequence[Merchant]) -> set[int]:
    if not text.isascii():
        return set()
    by_tid: list[Key[Any]] = [unique_names.tid_key(one.id, text) for one in stored]
    login, mid, *tids = read_all(
        [agents.login_key(text if is_email(text) else "-"), unique_names.mid_key(text), *by_tid], for_list=True
    )
    found = {one.id for one, tid in zip(stored, tids, strict=True) if tid and tid.holder != unique_names.FREE}
    return found | {login.client_id if login else 0, mid.holder if mid else 0} - {0}


def _matches(merchant: Merchant, text: str) -> bool:
    searched, manager = text.casefold(), merchant.manager
    is_text = any(searched in one.casefold() for one in (merchant.name, manager.email))
    return is_text or any(_is_phone(text, phone) for phone in (merchant.phone, manager.phone))


def _is_phone(text: str, phone: str) -> bool:
    return sum(map(str.isdecimal, text)) >= LEAST_DIGITS and is_part_of_phone(text, phone)
