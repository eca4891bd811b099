"""Rows of an exported history: what a CSV reader and a spreadsheet make of them."""

import csv
import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.kinds import LANGUAGES, InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import CardDetails, Purchase, Transaction
from chalicelib.receipts.content import words_of
from chalicelib.schemas.history_export import COLUMNS, neutral, row_of
from tests.support.transactions import NOW, a_payment

DANGEROUS = "=+@\t\r-"
CHARACTERS = st.characters(codec="utf-8")
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=40),
    st.builds("".join, st.tuples(st.sampled_from(DANGEROUS), st.text(CHARACTERS, max_size=20))),
    st.text(st.sampled_from("=+-@\t\r\n\",;' aÄß🧾مر"), max_size=12),
)


def read_back(transaction: Transaction, language: str = "en") -> dict[str, str]:
    """Return the row of a transaction as a CSV reader finds it in a file."""
    file = StringIO(newline="")
    row = row_of(entry_of(transaction), transaction.shown, words_of(language), transaction.gmt)
    csv.writer(file).writerows([COLUMNS, row])
    (found,) = csv.DictReader(StringIO(file.getvalue().encode().decode(), newline=""), strict=True)
    return found


@given(description=TEXTS, terminal=TEXTS, ext_id=TEXTS, invoice=TEXTS)
def test_every_text_is_read_back_as_it_was_written_without_controls_and_none_is_a_formula(
    description: str, terminal: str, ext_id: str, invoice: str
) -> None:
    row = read_back(a_payment(description=description, terminal_name=terminal, ext_id=ext_id, invoice=invoice))

    for name, text in (("Description", description), ("Terminal", terminal), ("ExtID", ext_id), ("Invoice", invoice)):
        cleaned = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text)
        assert row[name] in {cleaned, f"'{cleaned}"}
    texts = [cell for name, cell in row.items() if not name.startswith("Amount")]
    assert not [text for text in texts if text[:1] != "'" and re.search(f"(^|;) *[{DANGEROUS}]", text)]


@pytest.mark.parametrize(
    "text",
    [
        *("=1+1", "+27 82", "-5", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "＋1", "－1", "＠1"),  # noqa: RUF001
        *(" =1", "\u00a0=1", "\u200b=1", "\ufeff\u2060=1", "\ufe0f=1", "\u3164=1", "\x00=1", " \t1"),
        *("Coffee;=1", "a; -1", "a;\u200b@b", ";=1", 'a;"=1', '"=1'),
    ],
)
def test_what_a_spreadsheet_would_compute_gets_an_apostrophe(text: str) -> None:
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "Coffee", "'=1", "5-3", "a; b", "a = b; 5", "مرحبا", "🧾 =1"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert neutral(text) == text


@pytest.mark.parametrize(
    ("currency", "minor", "amount"),
    [
        (Currency("ZAR", "710", 2), 1230, "12.30"),
        (Currency("ZAR", "710", 2), 5, "0.05"),
        (Currency("ZAR", "710", 2), 10**12, "10000000000.00"),
        (Currency("JPY", "392", 0), 1230, "1230"),
        (Currency("BHD", "048", 3), 1230, "1.230"),
        (Currency("BHD", "048", 3), 7, "0.007"),
    ],
)
def test_amounts_have_the_digits_of_their_currency(currency: Currency, minor: int, amount: str) -> None:
    payment = a_payment(currency=currency, amount_minor=minor)
    reversal = a_payment(
        currency=currency, amount_minor=minor, original_id="A", original_mode=2, phase=Phase.REVERSAL_APPROVED
    )

    assert [read_back(payment)[name] for name in ("Amount", "AmountRequested", "Currency")] == [
        amount, amount, currency.code,
    ]  # fmt: skip
    assert [read_back(reversal)[name] for name in ("Amount", "AmountRequested")] == [f"-{amount}", amount]


@pytest.mark.parametrize(
    ("digits", "total", "text"),
    [
        (2, "20.82", "VAT15 15 % 20.80 of 159.50; a_b-c 0.125 % 0.02 of 15.95"),
        (0, "2082", "VAT15 15 % 2080 of 15950; a_b-c 0.125 % 2 of 1595"),
        (3, "2.082", "VAT15 15 % 2.080 of 15.950; a_b-c 0.125 % 0.002 of 1.595"),
    ],
)
def test_the_taxes_of_moved_money_have_the_digits_of_its_currency(digits: int, total: str, text: str) -> None:
    taxes = TaxAmount("VAT15", "VAT", Decimal("15.0"), 15950, 2080), TaxAmount("a_b-c", "B", Decimal("0.125"), 1595, 2)
    facts = {"currency": Currency("XXX", "999", digits), "tax_amounts": taxes}
    returned = {"original_id": "A", "original_mode": 2, "phase": Phase.REVERSAL_APPROVED}

    payment, reversal = read_back(a_payment(**facts)), read_back(a_payment(**facts, **returned))

    assert (payment["TaxTotal"], payment["TaxText"]) == (total, text)
    assert (reversal["TaxTotal"], reversal["TaxText"]) == (f"-{total}", re.sub(r"([0-9.]+) of ", r"-\1 of -", text))


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        (["-X", "A"], "'-X 10 % 0.00 of 0.30; A 10 % 0.00 of 0.30"),
        (["A", "-1+1"], "'A 10 % 0.00 of 0.30; -1+1 10 % 0.00 of 0.30"),
    ],
)
def test_no_code_of_a_tax_is_a_formula(codes: list[str], text: str) -> None:
    taxes = tuple(TaxAmount(code, "Name", Decimal(10), 30, 0) for code in codes)

    assert read_back(a_payment(tax_amounts=taxes))["TaxText"] == text


@pytest.mark.parametrize("phase", Phase)
def test_only_moved_money_has_taxes(phase: Phase) -> None:
    taxes = (TaxAmount("VAT15", "VAT", Decimal(15), 1230, 160),)
    for facts in ({}, {"original_id": "A", "original_mode": 2}):
        if phase is Phase.REVERSAL_APPROVED and not facts:
            continue
        row = read_back(a_payment(phase=phase, tax_amounts=taxes, **facts))
        assert bool(row["TaxTotal"]) is bool(row["TaxText"]) is (Decimal(row["Amount"]) != 0)


@pytest.mark.parametrize("phase", Phase)
def test_amount_is_what_moved(phase: Phase) -> None:
    took = phase in (Phase.APPROVED, Phase.AWAITING_COMPLETION)
    gave_back = phase is Phase.REVERSAL_APPROVED

    payment = a_payment(phase=phase)
    reversal = a_payment(phase=phase, original_id="A", original_mode=2)

    if not gave_back:
        assert Decimal(read_back(payment)["Amount"]) == (Decimal("12.30") if took else 0)
    assert Decimal(read_back(reversal)["Amount"]) == (Decimal("-12.30") if gave_back else 0)


def test_a_row_has_every_column_in_the_merchants_time() -> None:
    payment = a_payment(
        id="A1",
        created_at=NOW,
        description="Two Coffees",
        ext_id="Order-7",
        rrn="603112345678",
        approval_code="A1B2C3",
        card=CardDetails("VISA", "424242", "4242", cardholder="MOKOENA/THANDI"),
        purchases=(
            Purchase("Coffee", Decimal("2.50"), Decimal(2), discount=Decimal("0.70")),
            Purchase("=Tea", Decimal(16), Decimal("0.50")),
        ),
        discounts_minor=70,
    )

    assert read_back(payment) == {
        "Date": "2026-03-14T11:26:53.589",
        "ID": "A1",
        "Kind": "payment",
        "OriginalID": "",
        "InputType": "10",
        "AcquirerCode": "CASH",
        "State": "400",
        "Substate": "411",
        "Amount": "12.30",
        "AmountRequested": "12.30",
        "Currency": "ZAR",
        "AgentID": "17",
        "Agent": "Till 1",
        "Terminal": "SHOP0001",
        "Invoice": "260314000001",
        "RRN": "603112345678",
        "ApprovalCode": "A1B2C3",
        "Card": "424242******4242",
        "ExtID": "Order-7",
        "Description": "Two Coffees",
        "InputTypeText": "Cash",
        "StateText": "Paid",
        "Zone": "UTC+02:00",
        "TaxTotal": "",
        "TaxText": "",
        "Lines": "2 x Coffee 4.30; 0.5 x =Tea 8.00",
        "Discounts": "0.70",
        "Received": "",
    }


def test_the_time_of_recording_of_an_offline_sale_is_the_last_column() -> None:
    rows = [read_back(a_payment(date=date)) for date in (NOW - timedelta(hours=20), None)]

    assert [*rows[0]][-1] == "Received"
    assert [row["Received"] for row in rows] == ["2026-03-14T11:26:53.589", ""]
    assert rows[0]["Date"] == "2026-03-13T15:26:53.589"


def test_a_reversal_names_its_payment() -> None:
    row = read_back(a_payment(original_id="A1", original_mode=2, phase=Phase.REVERSAL_APPROVED))

    assert (row["Kind"], row["OriginalID"]) == ("reversal", "A1")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("phase", Phase)
def test_every_kind_and_state_has_words_in_every_language(phase: Phase, language: str) -> None:
    for input_type in InputType:
        row = read_back(a_payment(phase=phase, input_type=input_type), language)
        assert row["InputTypeText"]
        assert row["StateText"]


def test_the_words_are_of_the_language_and_a_payment_reversed_in_full_says_so() -> None:
    returned = a_payment(reversals_amount_minor=1230, reversals_count=1, latest_invoice="1", gmt=-5)

    assert [read_back(returned, language)["StateText"] for language in LANGUAGES] == [
        "Reversed in full",
        "Volledig terugbetaal",
    ]
    assert read_back(returned)["Zone"] == "UTC-05:00"
