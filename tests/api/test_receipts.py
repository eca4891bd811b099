"""Receipts from the till to the customer's inbox."""

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.outbox import NotSentError
from chalicelib.errors import Check
from chalicelib.services import outbox
from tests.support import events, http
from tests.support.builders import JPEG, PASSWORD, a_shop, an_email, image, merchant_update
from tests.support.cards import a_card_body
from tests.support.cost import write_units
from tests.support.goods import a_goods_shop
from tests.support.http import Reply, get, post
from tests.support.intercepted_calls import failing
from tests.support.receipts import mails, messages
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
KEY = "a secret key of some length"
_numbers: Iterator[int] = itertools.count(27_821_000_000)


def a_number() -> str:
    return f"+{next(_numbers)}"


def pay(stage: str, receipt: Any, body: dict[str, Any] | None = None, login: Any = None) -> Reply:
    """Pay, and let the stream send the receipt."""
    sent = {**(body or a_body()), "Receipt": receipt}
    reply = post(stage, SUBMIT, sent, login) if login else post(stage, SUBMIT, sent)
    events.deliver_all()
    return reply


def sweep() -> None:
    """Run the outbox sweep as if two minutes had passed, until nothing is due."""
    while outbox.sweep(datetime.now(UTC) + timedelta(minutes=2)).done:
        pass


@pytest.fixture
def mail_is_down(stage: str) -> Iterator[ExitStack]:
    """SES refuses everything, until the stack is closed."""
    del stage
    with ExitStack() as stack:
        stack.enter_context(outside.given(send_mail=failing(NotSentError("MessageRejected"))))
        yield stack


def test_the_receipt_is_mailed_right_after_the_payment(stage: str) -> None:
    to = an_email()
    reply = pay(stage, {"Email": to})

    transaction = reply.body["Transaction"]
    (mail,) = mails(to)
    assert mail.subject == "Receipt from Demo Store: R 12.30"
    assert transaction["Invoice"] in mail.body
    assert transaction["ReceiptEmail"] == to


def test_everybody_named_gets_one_of_their_own(stage: str) -> None:
    to, numbers = [an_email() for _ in range(3)], [a_number(), a_number()]
    reply = pay(stage, {"Email": to[0], "Emails": to, "Phone": numbers[0], "Phones": [numbers[1], numbers[0]]})

    assert reply.status == 200
    assert [len(mails(address)) for address in to] == [1, 1, 1]
    assert [len(messages(number)) for number in numbers] == [1, 1]


def receipt_of(stage: str, transaction_id: str, login: Any = None) -> Reply:
    path = f"/api/v1/payment/receipt/{transaction_id}"
    return get(stage, path, login) if login else get(stage, path)


def test_the_interface_shows_what_the_customer_got(stage: str) -> None:
    to, number = an_email(), a_number()
    paid = pay(stage, {"Email": to, "Phone": number}, a_body(Description="<script>alert(1)</script>")).body

    shown = receipt_of(stage, paid["TransactionID"]).body["Receipt"]
    (mail,), (message,) = mails(to), messages(number)
    assert (shown["Subject"], shown["Html"], shown["ShortText"]) == (mail.subject, mail.body, message.body)
    assert paid["Transaction"]["Invoice"] in shown["Text"]
    assert "<script" not in shown["Html"]


def test_a_later_change_of_the_merchant_changes_no_receipt(stage: str) -> None:
    shop = a_shop(stage, ImageAvatar=image())
    agent = shop.agent(TerminalID=shop.terminal(Currency="710")["ID"], SecretKey=KEY)
    to, till = an_email(), (agent["Email"], KEY)
    paid = pay(stage, {"Email": to}, login=till).body["TransactionID"]
    before = receipt_of(stage, paid, till).body["Receipt"]
    changed = merchant_update(Name="Another Name", AddressDeJure="Elsewhere", Image=image(JPEG))
    assert post(stage, f"/api/v1/merchant/{shop.id}/update", changed, http.SYSTEM).error == (200, 0)

    after = receipt_of(stage, paid, till).body["Receipt"]
    (mail,) = mails(to)
    picture = re.compile(r'src="([^"]+)"')
    assert mail.body == picture.sub('src="cid:logo"', after["Html"])
    assert re.search(r"https://.*merchants/[0-9]+/[0-9a-f]{32}\.png\?", picture.findall(after["Html"])[0])
    assert {**before, "Html": ""} == {**after, "Html": ""}
    assert "Another Name" not in mail.body


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "language"), [({"Lang": "af-ZA"}, "af"), ({"Lang": "xx"}, "en"), ({}, "en")])
def test_a_receipt_is_in_the_language_of_the_request_whenever_it_is_sent(
    stage: str, sent: dict[str, str], language: str, mail_is_down: ExitStack
) -> None:
    to = an_email()
    paid = pay(stage, {"Email": to}, {**a_body(), **sent}).body["TransactionID"]
    mail_is_down.close()
    sweep()

    (mail,) = mails(to)
    assert mail.subject.startswith({"af": "Kwitansie van", "en": "Receipt from"}[language])
    assert receipt_of(stage, paid).body["Receipt"]["Language"] == language
    shown = get(stage, f"/api/v1/payment/receipt/{paid}?Lang=af").body["Receipt"]
    assert (shown["Language"], "Betaal met" in shown["Text"]) == ("af", True)


def test_a_reversal_speaks_the_language_of_its_payment_unless_it_names_one(stage: str) -> None:
    paid = pay(stage, None, {**a_body(), "Lang": "af"}).body["TransactionID"]
    answers = []
    for lang in ({}, {"Lang": "en"}):
        part = {"TransactionID": paid, "ReverseMode": 2, "Amount": 1, "PartialReverse": True, "ID": a_guid()}
        reversal = post(stage, "/api/v1/payment/reverse", {"BasicReverseTran": part, **lang}).body
        answers.append(receipt_of(stage, reversal["TransactionReverseID"]).body["Receipt"]["Subject"])

    assert answers == ["Terugbetaling van Demo Store: R 1,00", "Return from Demo Store: R 1.00"]
    shown = get(stage, f"/api/v1/payment/receipt/{paid}?Lang=en").body["Receipt"]
    assert (shown["Language"], shown["Subject"][:12]) == ("en", "Receipt from")


def test_what_the_till_says_of_taxes_is_printed(stage: str) -> None:
    line = {"Title": "Tea", "Price": "12.30", "Quantity": "1", "TaxCode": ["VAT15", "", "CITY"]}
    body = a_body(AuxDataInput={"AuxData": {"Purchases": [line]}})
    paid = pay(stage, None, {**body, "TaxesModel": {"Taxes": ["VAT15"], "Code": "STANDARD"}}).body["TransactionID"]

    text = receipt_of(stage, paid).body["Receipt"]["Text"]
    assert "Tax code VAT15, CITY" in text
    assert re.search(r"Tax codes +VAT15\nTax scheme +STANDARD\n", text)


def test_a_sale_with_taxes_has_a_tax_invoice_and_its_return_a_credit_note(stage: str) -> None:
    goods = a_goods_shop(stage, TaxID=None, AddressDeJure="Bean (Pty) Ltd, 1 Main Road")
    change = {"TaxID": "4987654321", "AddressDeJure": "Bean (Pty) Ltd, 1 Main Road"}
    plain = goods.sell("1 x Cake 159.50 VAT15").body["TransactionID"]
    assert goods.shop.post(f"{goods.shop.path}/update", merchant_update(**change)).error == (200, 0)
    sold = goods.sell("1 x Cake 159.50 vat15", "1 x Milk 12.00").body["Transaction"]
    back = goods.give_back(sold["ID"], "1 x Cake 159.50").body["TransactionReverseID"]
    untaxed = goods.give_back(sold["ID"], "1 x Milk 12.00").body["TransactionReverseID"]

    texts = [receipt_of(stage, one, goods.till).body["Receipt"]["Text"] for one in (plain, sold["ID"], back, untaxed)]
    headed = [re.findall("(?m)^ +(RECEIPT|Tax invoice|Credit note)$", text) for text in texts]
    assert headed == [["RECEIPT"], ["Tax invoice"], ["Credit note"], ["Credit note"]]
    assert ["VAT 15 % in R 159.50: R 20.80" in text for text in texts] == [False, True, True, False]
    assert ["Tax no. 4987654321" in text for text in texts] == [False, True, True, True]
    assert [sold["Invoice"] in text for text in texts] == [False, True, True, True]


@pytest.mark.parametrize(
    ("place", "price", "amount", "title"),
    [
        (("ZA", "710"), "5000.00", "5000.00", "Tax invoice"),
        (("ZA", "710"), "5000.01", "5000.01", "Receipt"),
        (("ZA", "710"), "5000.04", "5000.00", "Tax invoice"),  # rounded to a coin
        (("ZA", "710"), "6000.00", "1000.00", "Receipt"),  # a part of the price
        (("ZA", "348"), "100.00", "100.00", "Receipt"),  # not in the country's own currency
        (("KE", "404"), "5000.01", "5000.01", "Tax invoice"),
    ],
)
def test_the_law_of_the_country_may_want_the_name_of_the_buyer(
    stage: str, place: tuple[str, str], price: str, amount: str, title: str
) -> None:
    country, currency = place
    goods = a_goods_shop(stage, CountryCode=country)
    till = goods.another_till(TerminalID=goods.shop.terminal(Currency=currency)["ID"])
    sold = till.sell(f"1 x Table {price} VAT15", Amount=amount, CurrencyID=None).body["TransactionID"]
    back = till.give_back(sold, Amount="10.00").body["TransactionReverseID"]

    shown = [receipt_of(stage, one, till.till).body["Receipt"] for one in (sold, back)]
    note = {"Tax invoice": "Credit note", "Receipt": "Return"}[title]
    assert [one["Subject"].partition(" from ")[0] for one in shown] == [title, note]
    assert all("VAT 15 % in" in one["Text"] for one in shown)


def test_what_moved_no_money_has_a_receipt_of_null_and_sends_none(stage: str) -> None:
    to = an_email()
    declined = pay(stage, {"Email": to}, a_card_body(pan="4000000000000002"))

    assert declined.error == (200, 1005)
    assert receipt_of(stage, declined.body["TransactionID"]).body == {
        "ErrorCode": 0, "ErrorMessage": None, "Validations": None, "Receipt": None,
    }  # fmt: skip
    assert pay(stage, {"Email": to}, a_body(Amount=0)).status == 400
    assert mails(to) == []


@pytest.mark.parametrize("name", ["00000000-0000-4000-8000-000000000000", "nothing", "0"])
def test_a_missing_transaction_has_no_receipt(stage: str, name: str) -> None:
    assert receipt_of(stage, name).error == (404, 568)


def test_a_repeated_payment_and_a_sweep_send_no_second_receipt(stage: str) -> None:
    to, body = an_email(), a_body()
    pay(stage, {"Email": to}, body)
    assert pay(stage, {"Email": to}, body).headers["Idempotent-Replayed"] == "true"
    sweep()

    assert len(mails(to)) == 1


def test_a_payment_does_not_fail_with_its_late_receipt(stage: str, mail_is_down: ExitStack) -> None:
    to, number = an_email(), a_number()
    reply = pay(stage, {"Email": to, "Phone": number})

    assert (reply.error, mails(to), len(messages(number))) == ((200, 0), [], 1)
    mail_is_down.close()
    sweep()
    (mail,) = mails(to)
    assert mail.subject == "Receipt from Demo Store: R 12.30"
    assert reply.body["Transaction"]["Invoice"] in mail.body
    assert len(messages(number)) == 1


@pytest.mark.parametrize(("mode", "subject"), [(1, "Cancel"), (2, "Return")])
def test_what_is_given_back_has_a_receipt_that_names_the_first_one(stage: str, mode: int, subject: str) -> None:
    to = an_email()
    payment = pay(stage, None).body["Transaction"]
    body = {"BasicReverseTran": {"TransactionID": payment["ID"], "ReverseMode": mode, "InputType": 10}}
    reply = post(stage, "/api/v1/payment/reverse", {**body, "Receipt": {"Email": to}})
    events.deliver_all()

    (mail,) = mails(to)
    assert (reply.error, mail.subject) == ((200, 0), f"{subject} from Demo Store: R 12.30")
    assert payment["Invoice"] in mail.body


def test_a_card_payment_is_receipted_when_it_is_approved(stage: str) -> None:
    to = an_email()
    transaction = pay(stage, {"Email": to}, a_card_body(pan="4242424242424242")).body["Transaction"]

    (mail,) = mails(to)
    assert "************4242" in mail.body
    assert transaction["ApprovalCode"] in mail.body
    assert "424242424242" not in mail.body


def test_a_welcome_arrives_and_holds_no_password(stage: str) -> None:
    email = an_email()
    a_shop(stage).agent(Email=email, SecretKey="staple staple staple")
    events.deliver_all()
    (mail,) = mails(email)

    assert mail.subject == "Welcome"
    assert email in mail.body
    assert PASSWORD not in mail.body
    assert "staple" not in mail.body


@pytest.mark.parametrize("empty", [None, {}, {"Email": "", "Emails": [], "Phone": "", "Phones": []}, {"Email": None}])
def test_nobody_named_is_no_receipt(stage: str, empty: Any) -> None:
    assert pay(stage, empty).error == (200, 0)


@pytest.mark.parametrize(
    ("receipt", "finding"),
    [
        ({"Email": "nobody"}, ("Receipt.Email", Check.FORMAT)),
        ({"Email": "a@b.example\r\nBcc: all@b.example"}, ("Receipt.Email", Check.FORMAT)),
        ({"Email": "a@b.example, c@b.example"}, ("Receipt.Email", Check.FORMAT)),
        ({"Email": f"{'a' * 300}@b.example"}, ("Receipt.Email", Check.TOO_LONG)),
        ({"Email": 5}, ("Receipt.Email", Check.TYPE)),
        ({"Emails": ["a@b.example", "@"]}, ("Receipt.Emails[1]", Check.FORMAT)),
        ({"Emails": [f"a{n}@b.example" for n in range(6)]}, ("Receipt.Emails", Check.TOO_LONG)),
        ({"Phone": "+27"}, ("Receipt.Phone", Check.FORMAT)),
        ({"Phones": ["+27 82 987 6543", "x"]}, ("Receipt.Phones[1]", Check.FORMAT)),
        ({"Phones": "+27829876543"}, ("Receipt.Phones", Check.TYPE)),
        ({"RetryNum": -1}, ("Receipt.RetryNum", Check.OUT_OF_RANGE)),
        (
            {"Emails": [f"a{n}@b.example" for n in range(3)], "Phones": [f"+2782987654{n}" for n in range(3)]},
            ("Receipt", Check.TOO_LONG),
        ),
    ],
)
def test_an_address_that_is_none_is_refused(stage: str, receipt: Any, finding: tuple[str, int]) -> None:
    reply = pay(stage, receipt)

    assert reply.error == (400, 202)
    assert reply.findings == [finding]


def test_a_receipt_costs_seven_units_whoever_gets_it(stage_on_dynamodb_local: str) -> None:
    events.deliver_all()  # receipts of other tests
    with write_units() as charged:
        pay(stage_on_dynamodb_local, {"Emails": [an_email() for _ in range(5)]})

    # Kept in the payment's transaction: the item 2, its place in the index 2. Claimed: the item 1. Sent: both 1.
    assert [units for table, units in charged if table == "outbox"] == [4, 1, 2]


@pytest.mark.parametrize("name", ["Standard Bank", "Payments", "X" * 256])
def test_an_sms_begins_with_the_stage_whatever_a_merchant_is_called(stage: str, name: str) -> None:
    shop, number = a_shop(stage, Name=name), a_number()
    agent = shop.agent(TerminalID=shop.terminal(Currency="710")["ID"], SecretKey=KEY)

    paid = pay(stage, {"Phone": number}, login=(agent["Email"], KEY))

    assert paid.error == (200, 0)
    assert messages(number)[0].body.startswith(f"Payments: {name[:60]}")


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("receipt", [{"Phone": "082 111 4455"}, {"Phones": ["0821114455", "+27 82 111 4466"]}])
def test_a_national_number_is_one_of_the_merchants_country(
    stage: str, receipt: dict[str, Any], *, offline: bool
) -> None:
    more = {"OfflineTran": {"OfflineMode": True, "Paid": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"}} if offline else {}
    reply = post(stage, SUBMIT, {**a_body(**more), "GMT": 0, "Receipt": receipt})

    assert (reply.error, reply.findings) == ((200, 0), [])
    assert reply.body["Transaction"]["ReceiptPhone"] == "+27821114455"
    assert post(stage, SUBMIT, {**a_body(), "Receipt": {"Phone": "12"}}).findings == [("Receipt.Phone", 3)]
