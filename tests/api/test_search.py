"""Search and ClientProductCode of a list, through HTTP: where a text is looked for, and where it is not."""

from decimal import Decimal
from typing import Any, Literal
from unicodedata import normalize

import pytest

from chalicelib.domain.history_entry import COUNT, entry_of
from chalicelib.store import history
from chalicelib.store.table import commit, update
from tests.support.builders import PASSWORD, Shop, a_shop
from tests.support.cards import a_card_body, chip_data
from tests.support.http import OTHER_TILL, SYSTEM, Reply, post
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body, a_guid

HISTORY, DAYS = "/api/v1/payment/listHistoryEx", "/api/v1/payment/listByDaysEx"
EXPORT = "/api/v1/report/export"
SUBMIT, REVERSE, REVERSE_CNP = (f"/api/v1/payment/{name}" for name in ("submit", "reverse", "reversecnp"))
NUMBER = "5105105105105100"
RECEIPT = {
    "Email": "Ann.Mokoena@home.example",
    "Emails": ["bob@work.example"],
    "Phone": "082 987 6543",
    "Phones": ["+27 83 111 2222"],
}
Form = Literal["NFC", "NFD"]  # of Unicode: é in one character, or an e and its accent


class Till:
    """A till of a new shop, with one payment among others."""

    def __init__(self, stage: str) -> None:
        self.shop: Shop = a_shop(stage)
        self.tid: str = self.shop.terminal(Name=f"Bar-{a_guid()[:8]}")["Name"]
        agent = self.shop.agent(Name="Çağla at the Bar", TID=self.tid, BranchesActions=None)
        self.login = agent["Email"], PASSWORD
        self.pay(a_body(Amount="99.99", Description="Something else"))

    def pay(self, body: dict[str, Any]) -> str:
        reply = self.shop.post(SUBMIT, body, self.login)
        assert reply.error == (200, 0), reply.text
        name: str = reply.body["TransactionID"]
        return name

    def reverse(self, path: str, **basic: Any) -> str:
        reply = self.shop.post(path, {"BasicReverseTran": basic}, self.login)
        assert reply.error == (200, 0), reply.text
        name: str = reply.body["TransactionReverseID"]
        return name

    def ask(self, search: str | None, path: str = HISTORY, **sent: Any) -> Reply:
        model = {"ListBasicModel": {"Search": search}} if search is not None else {}
        return self.shop.post(path, {**model, **sent}, self.login)

    def find(self, search: str | None, path: str = HISTORY, **sent: Any) -> list[str]:
        reply = self.ask(search, path, **sent)
        assert reply.status == 200, reply.text
        found = [one["ID"] for one in reply.body["Transactions"]]
        assert reply.body["TransactionsCounters"]["ItemCountTtl"] == len(found)
        return found


@pytest.fixture
def till(stage: str) -> Till:
    return Till(stage)


def test_a_payment_is_found_by_everything_a_search_looks_in(till: Till) -> None:
    body = {**a_body(Amount="1250.5", ExtID="Order-7/Straße", Description="Two Coffees"), "Receipt": RECEIPT}
    name = till.pay({**body, "CountryCode": "ZA"})
    invoice = till.ask(None).body["Transactions"][0]["Invoice"]

    for text in (
        *(name, name[4:17].lower(), "ORDER-7/STRASSE", invoice, "two coffees", "ann.mokoena@", "BOB@WORK.EXAMPLE"),
        *("+27829876543", "+27 82 987 6543", "082 987 6543", "0829876543", "27831112222", "083-111"),
        *("1250.5", "1250.50", "1250.500"),
    ):
        assert till.find(text) == till.find(text, DAYS) == [name], text
    for text in (
        "nobody",
        "1250",
        "1,250.50",
        "125050",
        "1250.51",
        "0829876544",
        "x" * 512,
        "' OR 1=1",
        "\x00",
        "(",
        "١٢",
    ):
        assert till.find(text) == [], text


@pytest.mark.parametrize(("sent", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_an_accent_is_found_however_it_is_typed(till: Till, sent: Form, typed: Form) -> None:
    name = till.pay(a_body(Description=normalize(sent, "Café Zoë"), ExtID="É-1"))

    for text in ("café zoë", "CAFÉ", "é-1", "çağla at"):
        assert name in till.find(normalize(typed, text)), text
    assert name not in till.find("cafe")


def test_a_name_of_the_terminal_or_of_the_agent_finds_all_it_took(till: Till) -> None:
    everything = till.find(None)
    everything.insert(0, till.pay(a_body()))

    for text in (till.tid.lower(), till.tid[:6], "çAĞLA", "at the bar"):
        assert till.find(text) == everything, text
    assert till.find("SHOP0001") == []


def test_a_card_payment_is_found_by_its_cardholder_its_mask_and_what_the_acquirer_said(till: Till) -> None:
    body = a_card_body("12.00", basic={"InputType": 3}, Card={"CardDataInput": {"ReaderData": chip_data(NUMBER)}})
    name = till.pay(body)
    shown = till.ask(None).body["Transactions"][0]

    for text in ("mokoena/thandi", "THANDI", "510510******5100", shown["RRN"], shown["ApprovalCode"].lower(), "12"):
        assert name in till.find(text), text
    for text in (NUMBER, NUMBER[:7], NUMBER[-6:], "5105 1051", "510510-5100", "A0000000031010"):
        assert name not in till.find(text), text


def test_a_declined_payment_and_a_reversal_are_found_by_their_amount_too(till: Till) -> None:
    declined = a_card_body("77.51")
    assert till.shop.post(SUBMIT, declined, till.login).error == (200, 1051)
    paid = till.pay(a_body(Amount="88"))
    reversal = till.reverse(REVERSE, TransactionID=paid, ReverseMode=2, Amount="33.25", PartialReverse=True)

    assert till.find("77.510") == [declined["BasicTran"]["ID"]]
    assert till.find("33.25") == [reversal]
    assert till.find("88.0") == [paid]
    assert till.ask("77.51").body["TransactionsCounters"]["AmountCvt"] == 0


@pytest.mark.parametrize("by_card", [False, True], ids=["cash", "card"])
def test_a_payment_is_found_by_the_receipt_number_of_its_latest_reversal(till: Till, *, by_card: bool) -> None:
    paid = till.pay(a_card_body("20.00", basic={"ExtID": "E-1"}) if by_card else a_body(Amount="20.00", ExtID="E-1"))
    path, mode = (REVERSE_CNP, 5) if by_card else (REVERSE, 2)
    numbers = []

    for part in ("5.00", "6.00"):
        reversal = till.reverse(path, TransactionID=paid, ReverseMode=mode, Amount=part, PartialReverse=True)
        shown = {one["ID"]: one for one in till.ask(None).body["Transactions"]}
        numbers.append(shown[reversal]["Invoice"])

        assert shown[paid]["ReverseInvoice"] == numbers[-1]
        assert sorted(till.find(numbers[-1])) == sorted([paid, reversal])
        by_ext_id = till.shop.post(HISTORY, {"ListBasicModel": {"ExtID": "E-1", "Search": numbers[-1]}}, till.login)
        assert paid in [one["ID"] for one in by_ext_id.body["Transactions"]]
    assert paid not in till.find(numbers[0])
    assert till.ask(None).body["TransactionsCounters"]["AmountCvt"] == Decimal("119.99")


def test_a_search_agrees_with_the_other_filters_and_with_another_merchants_secrecy(till: Till) -> None:
    name = till.pay({**a_body(ExtID="E-7"), "Receipt": RECEIPT, "CountryCode": "ZA"})

    for model in ({"ID": name}, {"ExtID": "E-7"}, {"InputType": 10, "AcquirerCode": "CASH"}):
        for text, found in (("ann.mokoena@", [name]), ("nobody", [])):
            reply = till.shop.post(HISTORY, {"ListBasicModel": {**model, "Search": text}}, till.login)
            assert [one["ID"] for one in reply.body["Transactions"]] == found, (model, text)
    elsewhere = post(till.shop.stage, HISTORY, {"ListBasicModel": {"Search": "ann.mokoena@"}}, OTHER_TILL)
    assert elsewhere.body["Transactions"] == []


def test_a_product_code_filters_exactly(till: Till) -> None:
    codes = {"CAFE": till.pay({**a_body(), "ClientProductCode": "CAFE"})}
    codes["cafe"] = till.pay({**a_body(Amount="1.00"), "ClientProductCode": "cafe"})
    everything = till.find(None)

    for path in (HISTORY, DAYS):
        for code, name in codes.items():
            assert till.find(None, path, ClientProductCode=code) == [name]
        assert till.find(None, path, ClientProductCode="Cafe") == []
        assert till.find(None, path, ClientProductCode="CAF") == []
        assert till.find(None, path, ClientProductCode="") == everything
    counted = till.ask(None, ClientProductCode="CAFE").body["TransactionsCounters"]
    assert (counted["ItemCountTtl"], str(counted["AmountCvt"])) == (1, "12.30")
    by_id = till.shop.post(HISTORY, {"ListBasicModel": {"ID": codes["CAFE"]}, "ClientProductCode": "cafe"}, till.login)
    assert by_id.body["Transactions"] == []


TEXTS = ("Search", "Invoice", "InvoiceOriginal", "RRN", "ClientProductCode")
OTHERS = {"InputType": 10, "AcquirerCode": "CASH", "Operation": 1}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_sought_in_20_000_operations_at_most_by_whoever_asks(till: Till, text: str) -> None:
    name = till.pay(a_body(Description="Two Coffees"))
    account = {"AccountID": stored_transaction(name).agent.id}
    sought = {text: "coffee"}

    def answer(path: str, login: tuple[str, str], **model: Any) -> tuple[int, int]:
        at_top = text == "ClientProductCode"
        body = {**sought, "ListBasicModel": model} if at_top else {"ListBasicModel": {**sought, **model}}
        return till.shop.post(path, body, login).error

    by_day, _ = history.additions(till.shop.id, entry_of(stored_transaction(name)))
    [count] = (one for one in by_day.numbers if one.startswith(COUNT))
    commit(update(by_day.key, add={count: 20_000 - 2}))
    assert answer(HISTORY, till.login) == (200, 0)

    commit(update(by_day.key, add={count: 1}))

    answers = [answer(path, till.login) for path in (HISTORY, DAYS, EXPORT)]
    answers += [answer(HISTORY, till.login, **OTHERS), answer(HISTORY, till.shop.owner)]
    answers += [answer(HISTORY, login, **account, **OTHERS) for login in (till.shop.owner, SYSTEM)]
    assert set(answers) == {(400, 404)}
