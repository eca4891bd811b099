"""The terminal group of a payment: that of the agent's terminal, at the top level of the request or in BasicTran."""

from typing import Any

import pytest

from tests.support.builders import PASSWORD, Shop, a_shop, terminal_body
from tests.support.cards import a_card_body
from tests.support.http import Reply
from tests.support.tills import kept
from tests.support.transactions import a_body

SUBMIT, CREATE = "/api/v1/payment/submit", "/api/v1/terminal/create"
ID, CODE = "TerminalGroupID", "TerminalGroupCode"


class Groups:
    """A shop with a till in the group SOFTPOS, and the IDs of its groups."""

    def __init__(self, stage: str) -> None:
        self.shop: Shop = a_shop(stage)
        terminal = self.shop.terminal(TerminalGroupCode="SOFTPOS")
        agent = self.shop.agent(TID=terminal["Name"], BranchesActions=None)
        self.till = agent["Email"], PASSWORD
        self.own: int = terminal["GroupID"]
        self.other: int = self.shop.terminal(TerminalGroupCode="SBP")["GroupID"]

    def pay(self, body: dict[str, Any]) -> Reply:
        return self.shop.post(SUBMIT, body, self.till)


@pytest.fixture
def groups(stage: str) -> Groups:
    return Groups(stage)


def in_place(place: str, body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the body with these fields at the top level or in BasicTran."""
    if not place:
        return body | fields
    return body | {"BasicTran": body["BasicTran"] | fields}


@pytest.mark.parametrize("place", ["", "BasicTran."])
@pytest.mark.parametrize("a_payment", [a_body, a_card_body])
def test_a_payment_names_the_group_of_its_terminal_or_none(groups: Groups, place: str, a_payment: Any) -> None:
    for fields in (
        {ID: groups.own},
        {CODE: "SOFTPOS"},
        {ID: groups.own, CODE: "SOFTPOS"},
        {ID: 0, CODE: ""},
        {ID: None},
    ):
        assert groups.pay(in_place(place, a_payment(), **fields)).error == (200, 0), fields


@pytest.mark.parametrize("place", ["", "BasicTran."])
@pytest.mark.parametrize("a_payment", [a_body, a_card_body])
def test_another_group_of_the_merchant_is_refused_and_named(groups: Groups, place: str, a_payment: Any) -> None:
    for fields, named in (
        ({ID: groups.other}, [ID]),
        ({CODE: "SBP"}, [CODE]),
        ({CODE: "DEFAULT"}, [CODE]),
        ({ID: groups.own, CODE: "SBP"}, [CODE]),
        ({ID: groups.other, CODE: "SOFTPOS"}, [ID]),
    ):
        body = in_place(place, a_payment(), **fields)
        reply = groups.pay(body)

        assert (reply.error, reply.findings) == ((400, 202), [(f"{place}{name}", 12) for name in named])
        assert "SOFTPOS" in reply.body["Validations"][0]["Message"]
        assert kept(body["BasicTran"]["ID"].upper()) is None


@pytest.mark.parametrize("place", ["", "BasicTran."])
def test_a_group_nobody_has_is_not_found(groups: Groups, place: str) -> None:
    foreign = Groups(groups.shop.stage).own
    for fields in ({ID: 10**9}, {CODE: "softpos"}, {ID: foreign}):
        reply = groups.pay(in_place(place, a_body(), **fields))

        assert (reply.error, reply.findings) == ((404, 569), [(f"{place}{next(iter(fields))}", 569)])


def test_a_group_is_one_of_all_findings(groups: Groups) -> None:
    reply = groups.pay({**a_body(Amount="12.345"), CODE: "NONE", ID: groups.other})

    assert reply.error == (400, 202)
    assert set(reply.findings) == {("BasicTran.Amount", 7), (CODE, 569), (ID, 12)}


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [(ID, 1, 2), (CODE, "DEFAULT", "SBP"), ("SkipFiscalization", True, False), ("FiscalRouteProfileCode", "A", "B")],
)
def test_a_field_in_both_places_must_agree(groups: Groups, name: str, one: object, other: object) -> None:
    body = in_place("BasicTran.", a_body(), **{name: one})
    reply = groups.pay(body | {name: other})

    assert (reply.error, reply.findings[0]) == ((400, 202), (name, 12))


def test_a_field_in_both_places_may_be_repeated_or_left_to_one_of_them(groups: Groups) -> None:
    fields = {ID: groups.own, CODE: "SOFTPOS", "SkipFiscalization": False, "FiscalRouteProfileCode": "A"}
    nothing = {ID: 0, CODE: "", "SkipFiscalization": None, "FiscalRouteProfileCode": ""}

    for top, basic in ((fields, fields), (fields, nothing), (nothing, fields), (nothing, nothing)):
        assert groups.pay(in_place("BasicTran.", a_body(), **basic) | top).error == (200, 0)


def test_a_field_in_other_capitals_is_refused_in_basic_tran_too(groups: Groups) -> None:
    reply = groups.pay(in_place("BasicTran.", a_body(), terminalGroupId=1))

    assert reply.findings == [("BasicTran.terminalGroupId", 13)]


def test_a_repeated_payment_is_answered_whatever_group_it_names(groups: Groups) -> None:
    body = a_body()
    first = groups.pay(body)
    again = groups.pay(body | {CODE: "SBP"})

    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.body["Transaction"] == first.body["Transaction"]


def test_the_groups_of_a_new_terminal_agree_and_a_placeholder_is_none(groups: Groups) -> None:
    def create(**fields: Any) -> Reply:
        return groups.shop.post(CREATE, {**terminal_body(groups.shop.id, TerminalGroupCode=None), **fields})

    assert create(TerminalGroupID=groups.own, TerminalGroupCode="SBP").findings == [(CODE, 12)]
    assert create(TerminalGroupID=groups.own, TerminalGroupCode="").body["Terminal"]["GroupID"] == groups.own
    assert create(TerminalGroupID=0, TerminalGroupCode="SOFTPOS").body["Terminal"]["GroupID"] == groups.own
    default = create(TerminalGroupCode="DEFAULT").body["Terminal"]["GroupID"]
    assert create(TerminalGroupID=0, TerminalGroupCode="").body["Terminal"]["GroupID"] == default
