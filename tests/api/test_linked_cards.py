"""GetLinkedCards: who sees which cards, the filters, the pages."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.domain import card
from chalicelib.domain.acquirer import AnswerLostError, UnreachableError
from chalicelib.domain.card import LinkedCard
from chalicelib.domain.permissions import Right
from chalicelib.errors import ServiceError
from chalicelib.gateways import acquirers
from chalicelib.services import linked_cards as linking
from chalicelib.settings import settings
from chalicelib.store import linked_cards, sequences
from chalicelib.store.table import commit, put_new, update, write_one
from tests.support.accounts import Account, a_stored_merchant, a_stored_terminal, an_account
from tests.support.builders import NOW
from tests.support.cards import a_card, a_card_body
from tests.support.giving import Give
from tests.support.http import OTHER_OWNER, OWNER, SYSTEM, TILL, Reply, get, post
from tests.support.intercepted_calls import before, broken, failing
from tests.support.tills import a_till

PATH = "/api/v1/payment/GetLinkedCards"
VISA = a_card().details


def a_stored_card(agent_id: int, client_id: int, **changes: Any) -> LinkedCard:
    facts: dict[str, Any] = {
        "id": sequences.next_id(linked_cards.TABLE),
        "client_id": client_id,
        "account_id": agent_id,
        "acquirer": "SANDBOX",
        "details": VISA,
        "alias": "Card",
        "created_at": NOW,
        "updated_at": NOW,
        "status": card.VERIFIED,
    }
    card_record = LinkedCard(**{**facts, **changes})
    commit(put_new(linked_cards.TABLE, card_record, "id"))
    return card_record


def listed(stage: str, login: tuple[str, str] = TILL, **filters: Any) -> Reply:
    return post(stage, PATH, filters, login)


def test_a_linked_card_shows_its_face_and_its_token_and_no_number(stage: str) -> None:
    [visa] = listed(stage, GMT=2).body["LinkedCards"]

    assert visa["LinkType"] == 1
    assert (visa["State"], visa["Status"], visa["Deleted"], visa["CanDelete"]) == (1, 3, False, False)
    assert (visa["PANMasked"], visa["PANEnding"], visa["PaymentType"]) == ("411111******1111", "1111", "VISA")
    assert visa["CardExp"] == "2049-12-31T23:59:59.000"
    assert visa["LinkID"].startswith("SBX-")
    assert set(visa) == {
        *("ID", "LinkType", "State", "Status", "AccountID", "Alias", "CardholderName", "LinkID", "PANEnding"),
        *("PANMasked", "PaymentType", "CardExp", "Created", "Updated", "Deleted", "CanDelete", "TransactionCount"),
        "StorageID",
    }


def test_an_agent_sees_its_own_cards_an_administrator_its_merchants_a_system_user_all(stage: str) -> None:
    own = listed(stage).body["LinkedCards"]
    till_id = own[0]["AccountID"]

    assert listed(stage, AccountId=till_id).body["LinkedCards"] == own
    assert listed(stage, OWNER, AccountId=till_id).body["LinkedCards"] == own
    assert listed(stage, SYSTEM, AccountId=till_id).body["LinkedCards"] == own
    assert own[0] in listed(stage, OWNER).body["LinkedCards"]
    assert listed(stage, SYSTEM).body["LinkedCards"] == []


def test_an_administrator_that_names_no_account_gets_the_cards_of_its_merchant_by_id(stage: str) -> None:
    merchant = a_stored_merchant()
    owner, *tills = (an_account(*rights, merchant=merchant) for rights in ((Right.ADMINISTRATOR,), (), ()))
    cards = [a_stored_card(one.agent.id, merchant.id) for one in (tills[1], owner, tills[0])]
    stranger = an_account().agent
    a_stored_card(stranger.id, stranger.client_id)

    def ids(login: Account, **filters: Any) -> list[int]:
        return [one["ID"] for one in listed(stage, (login.email, login.key), **filters).body["LinkedCards"]]

    assert ids(owner) == ids(owner, AccountId=0) == sorted(card.id for card in cards)
    assert ids(owner, AccountId=owner.agent.id) == [cards[1].id]
    assert ids(owner, Status=cards[0].status + 1) == []
    assert [ids(one) for one in tills] == [[cards[2].id], [cards[0].id]]


def test_zeros_filter_nothing(stage: str) -> None:
    assert listed(stage, State=0, Status=0, AccountId=0, Deleted=0).body == listed(stage).body


def test_a_colleagues_cards_are_refused_and_another_merchants_agent_is_missing(stage: str) -> None:
    till_id = listed(stage).body["LinkedCards"][0]["AccountID"]
    merchant = a_stored_merchant()
    me, colleague = an_account(merchant=merchant), an_account(merchant=merchant)
    login = (me.email, me.key)

    assert listed(stage, login, AccountId=colleague.agent.id).error == (403, 151)
    assert listed(stage, OTHER_OWNER, AccountId=till_id).error == (404, 563)
    assert listed(stage, OTHER_OWNER, AccountId=till_id).text == listed(stage, OTHER_OWNER, AccountId=10**9).text


def test_a_card_that_is_removed_while_it_pays_is_refused_and_nothing_is_stored(stage: str, give: Give) -> None:
    merchant = a_stored_merchant()
    account = an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant))
    linked = a_stored_card(account.agent.id, account.agent.client_id)

    def remove() -> None:
        write_one(update(linked_cards.key(linked.id), {"deleted": True}))

    give(client=before("TransactWriteItems", remove))
    body = a_card_body(basic={"InputType": 5}, Card={"LinkedCardId": linked.id})
    login = (account.email, account.key)

    assert post(stage, "/api/v1/payment/submit", body, login).error == (404, 566)
    assert get(stage, f"/api/v1/payment/{body['BasicTran']['ID']}", login).error == (404, 568)


@pytest.mark.parametrize(
    "change", [{"deleted": True}, {"state": card.CARD_BLOCKED}, {"details": replace(VISA, exp="0120")}], ids=str
)
@pytest.mark.parametrize("mode", [3, 5])
def test_money_goes_back_to_a_card_that_may_not_pay_any_more(stage: str, change: dict[str, Any], mode: int) -> None:
    merchant = a_stored_merchant()
    account = an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant))
    linked = linking.link(account.agent, a_card(), "Card", datetime.now(UTC))
    login = (account.email, account.key)
    body = a_card_body(basic={"InputType": 5}, Card={"LinkedCardId": linked.id})
    paid = post(stage, "/api/v1/payment/submit", body, login).body["TransactionID"]
    write_one(update(linked_cards.key(linked.id), change))
    basic = {"TransactionID": paid, "ReverseMode": mode}
    back = {"BasicReverseTran": basic, "Card": {"CardInputMode": 2, "LinkedCardId": linked.id}}

    assert post(stage, "/api/v1/payment/reversecnp", back, login).error == (200, 0)


def test_each_filter_leaves_out_what_does_not_match(stage: str) -> None:
    account = an_account()
    owner = (account.agent.id, account.agent.client_id)
    usual = a_stored_card(*owner)
    blocked = a_stored_card(*owner, state=card.CARD_BLOCKED)
    created = a_stored_card(*owner, status=card.CREATED)
    deleted = a_stored_card(*owner, deleted=True)

    def ids(**filters: Any) -> list[int]:
        return [item["ID"] for item in listed(stage, (account.email, account.key), **filters).body["LinkedCards"]]

    assert ids() == ids(Deleted=0) == ids(Page=0) == [usual.id, blocked.id, created.id]
    assert ids(State=1) == [usual.id, created.id]
    assert ids(State=2) == [blocked.id]
    assert ids(Status=3) == [usual.id, blocked.id]
    assert ids(State=1, Status=1) == [created.id]
    assert ids(Deleted=1) == [deleted.id]
    assert ids(State=2, Deleted=1) == []


def test_a_page_has_a_hundred_cards_and_past_the_end_there_are_none(stage: str) -> None:
    account = an_account()
    first = a_stored_card(account.agent.id, account.agent.client_id)
    more = [replace(first, id=sequences.next_id(linked_cards.TABLE)) for _ in range(120)]
    for start in range(0, 120, 60):
        commit(*(put_new(linked_cards.TABLE, one, "id") for one in more[start : start + 60]))

    pages = [listed(stage, (account.email, account.key), Page=page).body["LinkedCards"] for page in (1, 2, 3)]

    assert [len(page) for page in pages] == [100, 21, 0]
    assert [item["ID"] for page in pages for item in page] == [first.id, *(one.id for one in more)]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"Page": -1}, ("Page", 5)),
        ({"Deleted": 2}, ("Deleted", 5)),
        ({"AccountId": 1, "AccountID": 2}, ("AccountId", 12)),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(stage: str, filters: dict[str, Any], found: tuple[str, int]) -> None:
    reply = listed(stage, **filters)

    assert reply.error == (400, 202)
    assert reply.findings == [found]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("codes", "named", "links"),
    [
        (("HOST", "FIRST", "SECOND"), None, "FIRST"),
        (("HOST", "FIRST", "SECOND"), "SECOND", "SECOND"),
        (("HOST", "FIRST"), "HOST", None),
        (("HOST", "FIRST"), "SECOND", None),
        (("HOST",), None, None),
    ],
)
def test_a_card_is_linked_at_the_named_acquirer_or_the_first_that_links_cards(
    give: Give, codes: tuple[str, ...], named: str | None, links: str | None
) -> None:
    sandbox = acquirers.named("SANDBOX")
    known = {code: partial(SimpleNamespace, links_cards=code != "HOST", link=sandbox.link) for code in codes}
    give(settings=replace(settings(), acquirers=codes, default_acquirer=codes[0]), acquirers=known)
    agent = an_account().agent

    with suppress(ServiceError):
        linking.link(agent, a_card(), "Company card", NOW, named)
    assert [one.acquirer for one in linked_cards.of_agent(agent.id)] == ([links] if links else [])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("failure", [AnswerLostError(), UnreachableError(), ZeroDivisionError()], ids=repr)
def test_a_card_without_an_answer_stays_in_verification(failure: Exception) -> None:
    till = a_till()
    with broken(link=failing(failure)):
        unknown = till.link()

    assert (unknown.status, unknown.link_id) == (card.IN_VERIFICATION, None)
    assert linked_cards.of_agent(till.agent.id) == [unknown]
    assert not card.is_usable(unknown, till.agent.id, NOW.date())


@pytest.mark.usefixtures("engine")
def test_a_declined_card_is_stored_with_its_error_and_is_of_no_use() -> None:
    till = a_till()
    refused = till.link(a_card(pan="4000000000000002"))

    assert (refused.status, refused.link_id) == (card.FAILED, None)
    assert not card.is_usable(refused, till.agent.id, NOW.date())
