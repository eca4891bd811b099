"""Nothing of the specification is untested by name: each field of a request has an effect or a trace, each of an answer
a value, or a line in the reference that says why it has none.
"""

import copy
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any

import boto3
import pytest

from chalicelib.domain.secret import Secret
from chalicelib.settings import settings
from chalicelib.store.table import encode
from tests.support import complete_requests, http, specification
from tests.support.builders import PASSWORD, PNG
from tests.support.complete_requests import PAYMENT, Made, Run, a_run
from tests.support.export_files import rows_of
from tests.support.spec_checks import MISSING, at, leaves, put_at, steps
from tests.support.spec_fields import ALWAYS_NULL, REQUESTS
from tests.support.transactions import a_guid

Evidence = Callable[[Run, str], None]  # asserts what became of a field of a request


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {}


@pytest.fixture
def run(runs: dict[str, Run], stage_on_engine: str, engine_name: str) -> Run:
    """What a shop did on this engine: played once."""
    if engine_name not in runs:
        runs[engine_name] = a_run(stage_on_engine)
    return runs[engine_name]


# Answers


def test_every_field_of_every_answer_is_there_with_its_type(run: Run) -> None:
    assert run.seen.faults() == []


def test_the_reference_says_why_of_each_field_that_is_always_null_and_of_no_other(run: Run) -> None:
    assert run.seen.always_null() == ALWAYS_NULL


def test_answers_have_no_field_that_the_reference_does_not_have(run: Run) -> None:
    assert run.seen.others == set()


# Requests


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same: 6.15, "6.15" and a Secret of it are."""
    texts = [value.reveal() if isinstance(value, Secret) else value for value in (one, other)]
    if any(isinstance(text, bool) for text in texts):
        return texts[0] is texts[1]
    if any(isinstance(text, int | float | Decimal) for text in texts):
        return MISSING not in texts and Decimal(str(texts[0])) == Decimal(str(texts[1]))
    return bool(texts[0] == texts[1])


def value_sent(made: Made, field: str) -> Any:
    """Return what was sent in a field of this payment or reversal, in which it must have been sent."""
    value = at(made.sent, field)
    assert value is not MISSING, "it was not sent"
    return value


def shown(name: str, where: str) -> Evidence:
    """Expect the value in the answer to this payment or reversal."""

    def check(run: Run, field: str) -> None:
        made = run.made[name]
        assert same(value_sent(made, field), at(made.answer, where)), at(made.answer, where)

    return check


LINES = "AuxDataInput.AuxData.Purchases[0]"


def lines_of(endpoint: str, parent: str, name: str) -> dict[str, Evidence]:
    """Expect the line of a purchase in a field of this payment or reversal, and its tags nowhere."""
    fields = [field for field in leaves(REQUESTS[endpoint]) if field.startswith(f"{parent}.AuxDataInput.")]
    places = {"Title": "title", "Price": "price", "Quantity": "quantity", "TaxCode[0]": "tax_codes"}
    if endpoint == SUBMIT:
        places["Discount"] = "discount"
    in_record = {f"{parent}.{LINES}.{field}": recorded(name, f"line.{place}") for field, place in places.items()}
    return {**each(fields, nowhere(name)), **in_record}


def recorded(name: str, where: str) -> Evidence:
    """Expect the value in an attribute of the record, or among its values. `line` is the line of its purchase."""

    def check(run: Run, field: str) -> None:
        made = run.made[name]
        of_line = where.startswith("line.")
        record = made.stored.receipt.purchases[0] if of_line else made.stored
        found = reduce(getattr, where.removeprefix("line.").split("."), record)
        value = value_sent(made, field)
        assert value in found if isinstance(found, tuple) else same(value, found)

    return check


def sent_on(name: str, where: str) -> Evidence:
    """Expect the value in the request to the acquirer, and nowhere in the record."""

    def check(run: Run, field: str) -> None:
        made = run.made[name]
        found = reduce(getattr, where.split("."), made.authorization)
        assert same(value_sent(made, field), found)
        if field.startswith("Card.") or field == "AcqTran.AdditionalAcquiringFields":
            nowhere(name)(run, field)

    return check


def nowhere(name: str) -> Evidence:
    """Expect that the value is in nothing that was stored."""

    def check(run: Run, field: str) -> None:
        made = run.made[name]
        value = value_sent(made, field)
        if len(str(value)) > 6:  # fewer digits stand in any number
            assert str(value) not in json.dumps(encode(made.stored))

    return check


def changed(body: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """Return the body with another value; a payment is another payment then."""
    body = copy.deepcopy(body)
    if "BasicTran" in body:
        body["BasicTran"]["ID"] = a_guid()
    put_at(body, field, value)
    return body


def accepted(_: Run, __: str) -> None:
    """Expect nothing: the request was answered, and nothing depends on the field."""


def refused(endpoint: str, body: Callable[[Run], dict[str, Any]], value: Any, *errors: tuple[int, int]) -> Evidence:
    """Expect that the request is refused with another value, with one of these errors."""

    def check(run: Run, field: str) -> None:
        sent = changed(body(run), field, value)
        method = "GET" if endpoint.endswith("AuthAccount") else "POST"
        reply = http.call(run.shop.stage, method, endpoint, sent, run.till)
        assert reply.error in errors, reply.text

    return check


def changing(endpoint: str, body: Callable[[Run], dict[str, Any]], value: Any, where: str) -> Evidence:
    """Expect something else in the answer with another value."""

    def check(run: Run, field: str) -> None:
        before = at(run.post(endpoint, body(run)).body, where)
        after = at(run.post(endpoint, changed(body(run), field, value)).body, where)
        assert MISSING not in (before, after)
        assert before != after

    return check


def photo(run: Run, field: str) -> None:
    """Expect the picture in the bucket of the stage."""
    made = run.made["cash"]
    assert field == "Files[0].FileCode"
    assert made.stored.pictures.photo_key
    found = boto3.client("s3").get_object(Bucket=settings().bucket, Key=made.stored.pictures.photo_key)["Body"].read()
    assert found == PNG
    assert made.answer["Transaction"]["PhotoUrl"]


def has_photo(run: Run, field: str) -> None:
    """Expect that the answer says what was sent."""
    assert at(run.made["cash"].sent, field) == "PHOTO"
    assert run.made["cash"].answer["Transaction"]["HasPhoto"] is True


SUBMIT, REVERSE, REVERSE_CNP = (f"{PAYMENT}/{name}" for name in ("submit", "reverse", "reversecnp"))
EXPORT = "/api/v1/report/export"
HISTORY, BY_DAYS, CARDS = (f"{PAYMENT}/{name}" for name in ("listHistoryEx", "listByDaysEx", "GetLinkedCards"))
PREPARE, AUTH_ACCOUNT, SIGN_IN = f"{PAYMENT}/prepare", f"{PAYMENT}/AuthAccount", "/api/v1/user/login/session"
BY_CASH, BY_CHIP, KEYED = (lambda run, name=name: run.made[name].sent for name in ("cash", "chip", "keyed"))
TAKINGS, DRAWER = "/api/v1/report/takings", "/api/v1/report/drawer"
OTHERS = (403, 152)


def made_online(run: Run) -> dict[str, Any]:
    """Return the cash payment as one that is made online, where every fault refuses it."""
    return changed(run.made["cash"].sent, "BasicTran.OfflineTran.OfflineMode", value=False)


def every(endpoint: str) -> Callable[[Run], dict[str, Any]]:
    """Return the body of an endpoint with every field."""
    return lambda run: complete_requests.EVERYTHING[endpoint](run.ids)


def each(names: list[str], evidence: Evidence) -> dict[str, Evidence]:
    return dict.fromkeys(names, evidence)


def context_of(table: Mapping[str, Any], but: tuple[str, ...] = ("CurrentAccountID",)) -> list[str]:
    """Return the fields of a table that are the common request context."""
    return leaves({name: kind for name, kind in table.items() if name in specification.CONTEXT and name not in but})


# The fields of BasicTran that are carried through under one name.
CARRIED = ("Description",)


OF_A_PAYMENT: dict[str, Evidence] = {
    **each(context_of(REQUESTS[SUBMIT], but=("Location", "CurrentAccountID")), nowhere("cash")),
    "Location.Latitude": shown("chip", "Transaction.Latitude"),
    "Location.Longitude": shown("chip", "Transaction.Longitude"),
    "CurrentAccountID": refused(SUBMIT, BY_CASH, 1, OTHERS),
    "BasicTran.InputType": shown("cash", "Transaction.InputType"),
    "BasicTran.CurrencyID": shown("cash", "Transaction.CurrencyID"),
    **{f"BasicTran.{name}": shown("cash", f"Transaction.{name}") for name in CARRIED},
    "BasicTran.ServiceID": nowhere("cash"),
    "BasicTran.Amount": shown("cash", "Transaction.Amount"),
    "BasicTran.ExtID": shown("cash", "Transaction.ExtID"),
    "BasicTran.AmountCashGot": shown("cash", "Transaction.AmountCashGot"),
    "BasicTran.ClientDateTime": accepted,
    "BasicTran.ExtTransData": shown("cash", "Transaction.ExtTranData"),
    "BasicTran.ID": shown("cash", "Transaction.ID"),
    **lines_of(SUBMIT, "BasicTran", "cash"),
    "BasicTran.AuxDataInput.AuxData.Purchases[0].Price": refused(SUBMIT, made_online, "0.01", (400, 202)),
    "BasicTran.AuxDataInput.AuxData.Purchases[0].Quantity": refused(SUBMIT, made_online, "0.5", (400, 202)),
    **each([field for field in leaves(REQUESTS[SUBMIT]) if field.startswith("BasicTran.CPFData.")], nowhere("cash")),
    **{
        f"{parent}{name}": evidence
        for parent in ("", "BasicTran.")
        for name, evidence in {
            "TerminalGroupID": refused(SUBMIT, made_online, 10**9, (400, 202), (404, 569)),
            "TerminalGroupCode": refused(SUBMIT, made_online, "NOPE", (400, 202), (404, 569)),
            "SkipFiscalization": nowhere("cash"),
            "FiscalRouteProfileCode": nowhere("cash"),
        }.items()
    },
    "BasicTran.OfflineTran.OfflineMode": changing(SUBMIT, BY_CASH, value=False, where="Transaction.Invoice"),
    "BasicTran.OfflineTran.Invoice": shown("cash", "Transaction.Invoice"),
    "BasicTran.OfflineTran.Paid": shown("cash", "Transaction.Date"),
    "BasicTran.OfflineTran.OfflineLocation.Latitude": shown("cash", "Transaction.Latitude"),
    "BasicTran.OfflineTran.OfflineLocation.Longitude": shown("cash", "Transaction.Longitude"),
    "BasicTran.OfflineTran.OfflineQueueId": shown("cash", "Transaction.OfflineQueueId"),
    "AcqTran.AcquirerCode": shown("chip", "Transaction.AcquirerID"),
    "AcqTran.SingleStepAuthMode": shown("chip", "Transaction.SingleStepAuth"),
    "AcqTran.ExternalTerminalID": sent_on("chip", "external_terminal_id"),
    "AcqTran.AllowSwipeOverChip": sent_on("chip", "allow_swipe_over_chip"),
    "AcqTran.ForceSignatureRequirement": shown("signed", "RequireSignature"),
    "AcqTran.AdditionalAcquiringFields": sent_on("chip", "additional_fields"),
    "TaxesModel.Taxes[0]": recorded("cash", "receipt.taxes.codes"),
    "TaxesModel.Code": recorded("cash", "receipt.taxes.scheme"),
    "Receipt.Email": shown("cash", "Transaction.ReceiptEmail"),
    "Receipt.Emails[0]": recorded("cash", "receipt.addresses.emails"),
    "Receipt.Phone": shown("cash", "Transaction.ReceiptPhone"),
    "Receipt.Phones[0]": recorded("cash", "receipt.addresses.phones"),
    "Receipt.RetryNum": recorded("cash", "receipt.addresses.retries"),
    "Card.CardInputMode": refused(SUBMIT, KEYED, 2, (400, 202)),
    "Card.CardDataInput.EXP": shown("keyed", "Transaction.Card.EXP"),
    "Card.CardDataInput.CVV2": sent_on("keyed", "card.cvv2"),
    "Card.CardDataInput.PAN": sent_on("keyed", "card.pan"),
    "Card.CardDataInput.ReaderType": nowhere("chip"),
    "Card.CardDataInput.ReaderData": sent_on("chip", "card.tlv"),
    "Card.LinkedCardId": shown("linked", "Transaction.LinkedCard.ID"),
    "Files[0].FileType": has_photo,
    "Files[0].FileCode": photo,
    "ClientProductCode": shown("cash", "Transaction.ClientProductCode"),
    "ServerBuildNumber": nowhere("cash"),
    "UserAgent": nowhere("cash"),
}


def of_a_reversal(endpoint: str, name: str) -> dict[str, Evidence]:
    """Return the evidence of the fields that both endpoints have: what is sent about `name`."""
    same_named = ("InputType", "CurrencyID", "Amount", "PartialReverse", "ReverseMode", "Description")
    return {
        **each(context_of(REQUESTS[endpoint]), nowhere(name)),
        "CurrentAccountID": refused(endpoint, lambda run: run.made[name].sent, 1, OTHERS),
        "BasicReverseTran.TransactionID": shown(name, "TransactionID"),
        "BasicReverseTran.ID": shown(name, "TransactionReverseID"),
        **{f"BasicReverseTran.{field}": shown(name, f"Transaction.{field}") for field in same_named},
        **each([f"BasicReverseTran.{field}" for field in ("ServiceID", "ClientDateTime")], nowhere(name)),
        **lines_of(endpoint, "BasicReverseTran", name),
        **each([field for field in leaves(REQUESTS[endpoint]) if field.startswith("AcqTran.")], nowhere(name)),
        "AcqTran.AcquirerCode": shown(name, "Transaction.AcquirerID"),
        "Receipt.Email": shown(name, "Transaction.ReceiptEmail"),
        "Receipt.Emails[0]": recorded(name, "receipt.addresses.emails"),
        "Receipt.Phone": shown(name, "Transaction.ReceiptPhone"),
        "Receipt.Phones[0]": recorded(name, "receipt.addresses.phones"),
        "Receipt.RetryNum": recorded(name, "receipt.addresses.retries"),
        **each(leaves({"Card": REQUESTS[endpoint]["Card"]}), nowhere("chip back" if name == "cash back" else name)),
        "Card.LinkedCardId": nowhere("linked back"),
    }


def listed(run: Run, endpoint: str, body: dict[str, Any]) -> list[Any]:
    """Return the IDs of what a list shows; none when it is refused."""
    login = run.till if endpoint == CARDS else run.shop.owner
    reply = run.post(endpoint, body, login)
    if reply.status != 200:
        return []
    if endpoint == EXPORT:
        return [row["ID"] for row in rows_of(reply.body["Url"])]
    lists = ("LinkedCards",) if endpoint == CARDS else ("Transactions", "NotFinishedActualTrans", "InProcess")
    return [item["ID"] for name in lists for item in reply.body[name]]


def filtered(field: str, value: Any) -> dict[str, Any]:
    """Return the body that has this field alone."""
    for step in reversed(steps(field)):
        value = {step: value}
    body: dict[str, Any] = value
    return body


def narrowing(
    endpoint: str, which: Callable[[Run], Any], right: Callable[[Run], Any], wrong: Callable[[Run], Any] | None = None
) -> Evidence:
    """Expect that a list with the right value shows this object, and with the wrong one does not."""

    def check(run: Run, field: str) -> None:
        assert which(run) in listed(run, endpoint, filtered(field, right(run)))
        if wrong:
            assert which(run) not in listed(run, endpoint, filtered(field, wrong(run)))

    return check


def in_period(endpoint: str, right: dict[str, int], wrong: dict[str, int]) -> Evidence:
    """Expect the cash payment in the one period and not in the other; the days are counted from today."""

    def check(run: Run, field: str) -> None:
        assert field.removeprefix("Period.") in right
        today = datetime.now(UTC)
        for days, expected in ((right, True), (wrong, False)):
            period = {name: f"{today + timedelta(days=number):%Y-%m-%d}" for name, number in days.items()}
            assert (run.ids.cash in listed(run, endpoint, {"Period": period})) is expected

    return check


def always(value: Any) -> Callable[[Run], Any]:
    return lambda _: value


def id_of(name: str) -> Callable[[Run], Any]:
    return lambda run: run.made[name].stored.id


def dates(run: Run, endpoint: str, sort: str) -> list[str]:
    """Return the times of what a list shows, in its order."""
    body = run.post(endpoint, {"ListBasicModel": {"Sort": sort}}).body
    return [item["Date"] for item in (rows_of(body["Url"]) if endpoint == EXPORT else body["Transactions"])]


def sorting(endpoint: str) -> Evidence:
    """Expect the other order."""

    def check(run: Run, field: str) -> None:
        assert field == "ListBasicModel.Sort"
        newest, oldest = (dates(run, endpoint, sort) for sort in ("Date desc", "Date asc"))
        assert newest == sorted(newest, reverse=True)
        assert oldest == sorted(newest) != newest

    return check


def of_a_list(endpoint: str, period: dict[str, Evidence]) -> dict[str, Evidence]:
    cash = id_of("cash")

    def finds(value: Any) -> Evidence:
        return narrowing(endpoint, cash, always(value))

    model = {
        "Search": narrowing(endpoint, cash, always("Two COFFEES"), always("three teas")),
        "AccountID": narrowing(endpoint, cash, lambda run: run.ids.agent, lambda run: run.shop.owner_id),
        "Sort": sorting(endpoint),
        "ID": narrowing(endpoint, cash, cash, id_of("chip")),
        "Invoice": narrowing(endpoint, cash, always("OFF-7"), always("OFF-8")),
        "InvoiceOriginal": narrowing(endpoint, id_of("cash back"), always("OFF-7"), always("OFF-8")),
        "RRN": narrowing(
            endpoint, id_of("chip"), lambda run: run.made["chip"].stored.result.rrn, always("000000000000")
        ),
        "InputType": narrowing(endpoint, cash, always(10), always(3)),
        "AcquirerCode": narrowing(endpoint, cash, always("CASH"), always("SANDBOX")),
        "ExtID": narrowing(endpoint, cash, lambda run: run.made["cash"].sent["BasicTran"]["ExtID"], always("none")),
        "Fiscal": finds({"Status": 5}),
        "OfflineRequestModel": finds({"Mode": 5}),
        "Page": narrowing(endpoint, cash, always(1), always(2)),
        "Operation": narrowing(endpoint, cash, always(1), always(2)),
        "Late": narrowing(endpoint, cash, always(False), always(True)),  # noqa: FBT003  the values of the filter
    }
    return {
        **{f"ListBasicModel.{field}": evidence for field, evidence in model.items()},
        **period,
        "ClientProductCode": finds("CAFE"),
        **each(context_of(REQUESTS[endpoint]), accepted),
        "CurrentAccountID": refused(endpoint, every(endpoint), 1, OTHERS),
    }


OF_HISTORY = of_a_list(
    HISTORY,
    {
        "Period.From": in_period(HISTORY, {"From": -2, "To": 2}, {"From": 2, "To": 2}),
        "Period.To": in_period(HISTORY, {"From": -2, "To": 2}, {"From": -2, "To": -2}),
    },
)


def a_journal(form: str) -> Callable[[Run], dict[str, Any]]:
    """Return a journal of a day without payments, with a name for each account."""
    return lambda run: {
        "Format": form,
        "Period": {"From": "2026-03-14", "To": "2026-03-14"},
        "Accounts": complete_requests.EVERYTHING[EXPORT](run.ids)["Accounts"] if form == "xero" else {},
    }


OF_AN_EXPORT = of_a_list(
    EXPORT,
    {
        "Period.From": in_period(EXPORT, {"From": -2, "To": 2}, {"From": 2, "To": 2}),
        "Period.To": in_period(EXPORT, {"From": -2, "To": 2}, {"From": -2, "To": -2}),
    },
) | {
    "ListBasicModel.Page": narrowing(EXPORT, id_of("cash"), always(2)),
    "Format": refused(EXPORT, a_journal("hledger"), "Hledger", (400, 202)),
    **{
        f"Accounts.{name}": refused(EXPORT, a_journal("xero"), "=1", (400, 202))
        for name in REQUESTS[EXPORT]["Accounts"][0]
    },
}
OF_A_LIST_BY_DAYS = of_a_list(
    BY_DAYS,
    {
        "Period.From": in_period(BY_DAYS, {"From": 2}, {"From": -2}),
        "Period.To": in_period(BY_DAYS, {"To": 2}, {"To": -2}),
    },
)


def reporting(right: dict[str, Any], wrong: dict[str, Any]) -> Evidence:
    """Expect rows with the one request, and none with the other; the days of periods are counted from today."""

    def rows(run: Run, sent: dict[str, Any]) -> Any:
        today = datetime.now(UTC)
        days = {"From": -2, "To": 2} | sent.get("Period", {})
        period = {name: f"{today + timedelta(days=number):%Y-%m-%d}" for name, number in days.items()}
        reply = run.post(TAKINGS, {**sent, "Period": period}, run.shop.owner)
        assert reply.error == (200, 0)
        return reply.body["Takings"]

    def check(run: Run, field: str) -> None:
        assert field
        with_ids = {"AccountID": run.ids.agent} if field == "AccountID" else {}
        with_others = {"AccountID": run.shop.owner_id} if field == "AccountID" else {}
        assert rows(run, right | with_ids)
        assert rows(run, right | with_ids) != rows(run, wrong | with_others)

    return check


OF_TAKINGS = {
    **each(context_of(REQUESTS[TAKINGS]), accepted),
    "CurrentAccountID": refused(TAKINGS, every(TAKINGS), 1, OTHERS),
    "Period.From": reporting({}, {"Period": {"From": 2}}),
    "Period.To": reporting({}, {"Period": {"To": -2}}),
    "AccountID": reporting({}, {}),
    "By": reporting({"By": "day"}, {"By": "hour"}),
}


def in_movement(value: str) -> Evidence:
    """Expect the value in the movement of a drawer."""

    def check(run: Run, field: str) -> None:
        answer = run.post(DRAWER, changed(every(DRAWER)(run), field, value)).body
        assert same(value, answer["Drawer"]["Movements"][-1][field])

    return check


def from_float_to_count(run: Run, field: str) -> None:
    """Expect the count of the open drawer, and the float of the next one."""
    sent = changed(every(DRAWER)(run), "Action", "close")
    counted = run.post(DRAWER, sent).body["Drawer"]
    opened = complete_requests.open_drawer(run, 17).body["Drawer"]
    shown = {"Counted": (counted["Counted"], sent["Counted"]), "Float": (opened["Float"], 17)}
    assert same(*shown[field])


OF_A_DRAWER = {
    **each(context_of(REQUESTS[DRAWER]), accepted),
    "CurrentAccountID": refused(DRAWER, every(DRAWER), 1, OTHERS),
    **each(
        ["AgentID", "AccountID"],
        refused(DRAWER, every(DRAWER), 10**15, (404, 563)),
    ),
    "DrawerID": refused(DRAWER, every(DRAWER), a_guid(), (404, 563)),
    "Action": refused(DRAWER, every(DRAWER), "open", (409, 316)),
    "Amount": in_movement("1.75"),
    "Note": in_movement("Nothing is torn"),
    "Counted": from_float_to_count,
    "Float": from_float_to_count,
}


def of_linked_cards() -> dict[str, Evidence]:
    def linked(run: Run) -> Any:
        return run.ids.linked_card

    def filtering(right: Any, wrong: Any) -> Evidence:
        return narrowing(CARDS, linked, always(right), always(wrong))

    return {
        **each(context_of(REQUESTS[CARDS], but=("CurrentAccountID", "GMT")), accepted),
        "CurrentAccountID": refused(CARDS, every(CARDS), 1, OTHERS),
        "GMT": changing(CARDS, every(CARDS), 5, "LinkedCards[0].Created"),
        "AccountId": narrowing(CARDS, linked, lambda run: run.ids.agent, lambda run: run.shop.owner_id),
        "State": filtering(1, 2),
        "Status": filtering(3, 1),
        "Deleted": filtering(0, 1),
        "Page": filtering(1, 2),
    }


def signed_in(run: Run) -> dict[str, Any]:
    return {"Email": run.till[0], "Password": PASSWORD}


def remembered(run: Run, field: str) -> None:
    session = run.post(SIGN_IN, {**signed_in(run), field: True}).body["Data"]["SessionID"]
    ends = http.get(run.shop.stage, "/api/v1/user/me?GMT=0", (run.till[0], session)).body["Data"]["ExpiresAt"]

    assert datetime.fromisoformat(ends + "+00:00") > datetime.now(UTC) + timedelta(days=29)


def with_a_factor(run: Run, field: str) -> None:
    session = run.post(SIGN_IN, signed_in(run)).body["Data"]["SessionID"]
    login = (run.till[0], session)
    codes = complete_requests.switch_on(run, login)
    answers = [
        http.post(run.shop.stage, SIGN_IN, signed_in(run) | more, None).error for more in ({}, {field: codes[0]})
    ]
    complete_requests.switch_off(run, login, codes[1])

    assert answers == [(401, 109), (200, 0)]


EVIDENCE: dict[str, dict[str, Evidence]] = {
    SUBMIT: OF_A_PAYMENT,
    REVERSE: of_a_reversal(REVERSE, "cash back"),
    REVERSE_CNP: of_a_reversal(REVERSE_CNP, "keyed back"),
    HISTORY: OF_HISTORY,
    BY_DAYS: OF_A_LIST_BY_DAYS,
    EXPORT: OF_AN_EXPORT,
    CARDS: of_linked_cards(),
    TAKINGS: OF_TAKINGS,
    DRAWER: OF_A_DRAWER,
    PREPARE: {
        **each(context_of(REQUESTS[PREPARE]), accepted),
        "CurrentAccountID": refused(PREPARE, every(PREPARE), 1, OTHERS),
        "PrepareFields[0].Name": changing(PREPARE, every(PREPARE), "AmountOfNothing", "PreparedFields[1].Value"),
        "PrepareFields[0].Value": changing(PREPARE, every(PREPARE), "3000.00", "PreparedFields[1].Value"),
        "ProductDescCode": refused(PREPARE, every(PREPARE), "Unheard", (404, 567)),
        "ClientProductCode": changing(PREPARE, every(PREPARE), "CAR", "PreparedFields[4].Value"),
    },
    AUTH_ACCOUNT: {
        "CurrentAccountID": refused(AUTH_ACCOUNT, every(AUTH_ACCOUNT), 1, OTHERS),
        **each(["GMT", "Lang", "IP"], accepted),
    },
    SIGN_IN: {
        "Email": refused(SIGN_IN, signed_in, "nobody@shop.example", (401, 102)),
        "Password": refused(SIGN_IN, signed_in, "another password", (401, 102)),
        "Remember": remembered,
        "Code": with_a_factor,
    },
}


def test_every_field_of_a_request_has_evidence_and_no_other() -> None:
    assert {endpoint: sorted(evidence) for endpoint, evidence in EVIDENCE.items()} == {
        endpoint: sorted(leaves(REQUESTS[endpoint])) for endpoint in complete_requests.EVERYTHING
    }


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", EVIDENCE)
def test_every_field_of_a_request_has_its_effect_or_its_trace(run: Run, endpoint: str) -> None:
    missed = []
    for field, evidence in EVIDENCE[endpoint].items():
        try:
            evidence(run, field)
        except AssertionError as failure:
            missed.append((field, str(failure).splitlines()[:1]))

    assert missed == []


@pytest.mark.parametrize("endpoint", [HISTORY, BY_DAYS, EXPORT])
def test_a_list_takes_every_filter_at_once(run: Run, endpoint: str) -> None:
    assert run.post(endpoint, complete_requests.EVERYTHING[endpoint](run.ids)).error == (200, 0)
