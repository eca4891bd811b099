import re
import unicodedata
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chalicelib.domain.kinds import ENGLISH, LANGUAGES, InputType, language_of
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import CardDetails, EmvData, Purchase, Taxes, Transaction, snapshot_of
from chalicelib.receipts.content import FOLDER, receipt_of, words_of
from chalicelib.receipts.html import STYLES, as_html
from chalicelib.receipts.text_and_sms import PLAIN, WIDTH, as_sms, as_text
from tests.support import transactions
from tests.support.builders import a_merchant
from tests.support.transactions import NOW, altered

MERCHANT = snapshot_of(
    a_merchant(name="Bean & Leaf", address_de_jure="Bean and Leaf (Pty) Ltd, 12 Long Street", tax_id="4123456789"),
    "000000001234567",
)
a_payment = partial(transactions.a_payment, merchant=MERCHANT)


@pytest.mark.parametrize(("de_jure", "shown"), [("12 Long Street", "12 Long Street"), (None, "1 Short Street")])
def test_a_receipt_names_the_legal_address_else_the_actual_one(de_jure: str | None, shown: str) -> None:
    merchant = a_merchant(address_de_jure=de_jure, address_de_facto="1 Short Street")
    assert snapshot_of(merchant, None).address == shown


def bought(*purchases: tuple[str, str, str]) -> tuple[Purchase, ...]:
    return tuple(Purchase(title, Decimal(price), Decimal(quantity)) for title, price, quantity in purchases)


def a_card_payment(**changes: Any) -> Transaction:
    facts: dict[str, Any] = {
        "input_type": InputType.CHIP,
        "acquirer": "SANDBOX",
        "card": CardDetails("VISA", "411111", "1111", "1228", "T. Mokoena"),
        "approval_code": "A12345",
        "rrn": "612312345678",
        "emv": EmvData("A0000000031010", "VISA CREDIT", "E800", "0000008000"),
    }
    return a_payment(**facts | changes)


def a_reversal(**changes: Any) -> Transaction:
    facts: dict[str, Any] = {"phase": Phase.REVERSAL_APPROVED, "original_id": "X", "original_invoice": "260314000777"}
    return a_payment(**{**facts, "original_mode": 2, **changes})


def text_of(transaction: Transaction) -> str:
    return as_text(receipt_of(transaction))


def html_of(transaction: Transaction) -> str:
    return as_html(receipt_of(transaction))


def line(text: str, label: str) -> str:
    """Return the value to the right of a label."""
    return next(line.removeprefix(label).strip() for line in text.splitlines() if line.startswith(label))


def test_a_cash_receipt_reads_like_one() -> None:
    purchases = bought(("Flat white", "32.00", "2"), ("Croissant", "28.5", "1"))
    payment = a_payment(amount_minor=9250, amount_cash_got_minor=10000, purchases=purchases)

    assert (
        text_of(payment)
        == f"""\
              Bean & Leaf
Bean and Leaf (Pty) Ltd, 12 Long Street
            +27 82 987 6543
           Tax no. 4123456789

                RECEIPT

Receipt no.                 260314000001
Date          14 Mar 2026, 11:26 (UTC+2)
Terminal (TID)                  SHOP0001
Merchant (MID)           000000001234567
Served by                         Till 1
----------------------------------------
Flat white
  2 x 32.00                        64.00
Croissant
  1 x 28.50                        28.50
----------------------------------------
PAID ZAR                         R 92.50
Cash received                   R 100.00
Change                            R 7.50
----------------------------------------
Paid by                             Cash
Transaction
    {payment.id}

       Please keep this receipt.
"""
    )


def test_a_card_receipt_has_the_lines_of_a_chip_payment() -> None:
    text = text_of(a_card_payment())

    assert line(text, "VISA") == "************1111"
    assert line(text, "Approval code") == "A12345"
    assert line(text, "RRN") == "612312345678"
    assert line(text, "Application") == "VISA CREDIT"
    assert line(text, "AID") == "A0000000031010"
    assert line(text, "TVR") == "0000008000"
    assert line(text, "TSI") == "E800"
    assert "Cash received" not in text


@pytest.mark.parametrize(("mode", "title", "label"), [(1, "CANCEL", "CANCELLED"), (2, "RETURN", "RETURNED")])
def test_a_reversal_names_the_receipt_it_takes_back(mode: int, title: str, label: str) -> None:
    text = text_of(a_reversal(original_mode=mode, amount_minor=500))

    assert title in text.split()
    assert line(text, "Original receipt no.") == "260314000777"
    assert line(text, f"{label} ZAR") == "R 5.00"


def test_a_reversal_lists_what_was_brought_back() -> None:
    assert "Flat white" in text_of(a_reversal(purchases=bought(("Flat white", "32", "1"))))


def test_a_prepayment_says_what_the_purchases_come_to() -> None:
    text = text_of(a_payment(amount_minor=1000, purchases=bought(("Table", "500", "1"))))

    assert (line(text, "PAID ZAR"), line(text, "Purchases come to")) == ("R 10.00", "500.00")


def test_a_unit_price_is_shown_as_it_was_sent_and_its_line_is_rounded() -> None:
    text = text_of(a_payment(amount_minor=700, purchases=bought(("Petrol", "1.999", "3.5"))))

    assert line(text, "  3.5 x 1.999") == "7.00"
    assert "Rounding" not in text


YEN, DINAR, EURO = Currency("JPY", "392", 0), Currency("BHD", "048", 3), Currency("EUR", "978", 2)


@pytest.mark.parametrize(
    ("amount_minor", "facts", "bought_lines", "shown"),
    [
        (998, {}, [("29.99", "0.333")], {"Rounding": "-0.01"}),  # the line is 9.99
        (1000, {}, [("29.99", "0.333")], {"Rounding": "0.01"}),
        (990, {}, [("29.99", "0.333")], {"Rounding": "-0.09"}),
        (989, {}, [("29.99", "0.333")], {"Purchases come to": "9.99"}),
        (3, {"input_type": InputType.CHIP}, [("0.014", "1")] * 2, {"Rounding": "0.01"}),  # two lines of 0.01
        (2, {"input_type": InputType.CHIP}, [("0.005", "1")] * 3, {"Rounding": "-0.01"}),  # three lines of 0.01
        (1, {"input_type": InputType.CHIP}, [("0.005", "1")] * 3, {"Purchases come to": "0.03"}),
        (150, {"currency": YEN}, [("99.5", "1"), ("50.4", "1")], {}),
        (2667, {"currency": DINAR}, [("1.3334", "1")] * 2, {"Rounding": "0.001"}),
        (1000, {"currency": EURO}, [("10.02", "1")], {"Rounding": "-0.02"}),  # to a coin of 5 cents
        (1000, {"currency": EURO, "input_type": InputType.CHIP}, [("10.02", "1")], {"Purchases come to": "10.02"}),
    ],
)
def test_the_difference_to_the_rounded_lines_is_rounding(
    amount_minor: int, facts: dict[str, Any], bought_lines: list[tuple[str, str]], shown: dict[str, str]
) -> None:
    purchases = bought(*(("Apples", *one) for one in bought_lines))
    text = text_of(a_payment(amount_minor=amount_minor, amount_cash_got_minor=None, purchases=purchases, **facts))

    for label in ("Rounding", "Purchases come to"):
        assert (line(text, label) if label in text else None) == shown.get(label)


def test_a_currency_without_decimals_has_none() -> None:
    text = text_of(a_payment(currency=Currency("JPY", "392", 0), amount_minor=1200, amount_cash_got_minor=2000))

    assert (line(text, "PAID JPY"), line(text, "Change")) == ("¥ 1,200", "¥ 800")


def test_an_offline_payment_has_the_time_it_was_taken_at() -> None:
    assert line(text_of(a_payment(date=NOW.replace(day=2, hour=23))), "Date") == "3 Mar 2026, 01:26 (UTC+2)"


def test_what_is_not_completed_says_so() -> None:
    assert "AUTHORIZED, NOT YET COMPLETED" in text_of(a_card_payment(phase=Phase.AWAITING_COMPLETION))


@pytest.mark.parametrize("phase", Phase)
def test_there_is_a_receipt_only_where_money_moved(phase: Phase) -> None:
    moved = {Phase.APPROVED, Phase.AWAITING_COMPLETION, Phase.REVERSAL_APPROVED}

    assert a_payment(phase=phase).moved_money == (phase in moved)


def test_html_is_escaped_and_fetches_nothing() -> None:
    nasty = '<script>alert("1")</script>'
    payment = a_payment(purchases=bought((nasty, "1", "1")), description=nasty, terminal_name=nasty, invoice=nasty)
    html = as_html(receipt_of(replace(payment, merchant=replace(MERCHANT, name=nasty))))

    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;") >= 5
    assert not re.search(r"https?:|src=|url\(|@import", html)


def test_a_picture_is_the_one_thing_that_is_fetched() -> None:
    html = as_html(receipt_of(a_payment()), 'https://files.example/a.png?x=1&y="')

    assert re.findall(r'src="([^"]*)"', html) == ["https://files.example/a.png?x=1&amp;y=&quot;"]
    assert "<img" not in html_of(a_payment())


def test_the_tax_codes_of_lines_and_of_the_payment_are_printed() -> None:
    (tea, milk) = bought(("Tea", "10.00", "1"), ("Milk", "2.30", "1"))
    payment = a_payment(
        purchases=(replace(tea, tax_codes=("VAT15", "CITY<2>")), milk), taxes=Taxes(("VAT15", "VAT0"), "STANDARD")
    )
    text, html = text_of(payment), html_of(payment)

    assert "  Tax code VAT15, CITY<2>\nMilk" in text
    assert text.count("Tax code ") == 1
    assert (line(text, "Tax codes"), line(text, "Tax scheme")) == ("VAT15, VAT0", "STANDARD")
    assert "Tax code VAT15, CITY&lt;2&gt;" in html
    assert "Tax" not in text_of(a_payment(purchases=(milk,))).replace("Tax no.", "")


def test_a_receipt_is_worded_in_the_language_of_its_transaction() -> None:
    purchases = bought(("Flat white", "1250.00", "1.5"))
    text = text_of(a_payment(amount_minor=187500, amount_cash_got_minor=200000, purchases=purchases, language="af"))

    assert "KWITANSIE" in text
    assert line(text, "Datum") == "14 Mrt. 2026, 11:26 (UTC+2)"
    assert line(text, "  1,5 x 1 250,00") == "1 875,00"
    assert line(text, "BETAAL ZAR") == "R 1 875,00"
    assert (line(text, "Kleingeld"), line(text, "Betaal met")) == ("R 125,00", "Kontant")
    assert 'lang="af"' in html_of(a_payment(language="af"))


@pytest.mark.parametrize(("language", "word"), [("en", "Copy"), ("af", "Afskrif")])
def test_a_copy_says_so_below_its_title_and_an_original_does_not(language: str, word: str) -> None:
    payment = a_taxed_payment(language=language)
    original, copied = receipt_of(payment), receipt_of(payment, is_copy=True)
    lines = [line.strip() for line in as_text(copied).splitlines()]

    assert lines[lines.index(copied.title) + 1] == word
    assert f">{word}</td>" in as_html(copied)
    assert as_sms(payment, is_copy=True) == f"{word}: {as_sms(payment)}"[: len(as_sms(payment, is_copy=True))]
    for text in (as_text(original), as_html(original), as_sms(payment)):
        assert word not in text


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != ENGLISH])
def test_a_language_says_all_that_english_says(language: str) -> None:
    words, english = words_of(language), words_of(ENGLISH)
    fields = [{key: set(re.findall(r"\{\w+\}", text)) for key, text in one.items()} for one in (words, english)]

    assert fields[0] == fields[1]
    assert all(words.values())


def test_every_language_is_a_file_and_every_file_a_language() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(LANGUAGES)


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("af", "af"),
        ("AF-ZA", "af"),
        ("af_ZA", "af"),
        ("de", "en"),
        ("", "en"),
        (None, "en"),
        ("../af", "en"),
    ],
)
def test_a_tag_names_its_language_or_english(tag: str | None, language: str) -> None:
    assert language_of(tag) == language


@given(
    title=st.text(max_size=80),
    language=st.sampled_from(LANGUAGES),
    amount_minor=st.integers(1, 10**12),
    codes=st.lists(st.text(max_size=40), max_size=3),
)
def test_a_receipt_has_only_listed_styles(title: str, language: str, amount_minor: int, codes: list[str]) -> None:
    lines = tuple(replace(one, tax_codes=tuple(codes)) for one in bought((title, "1.00", "2")))
    payment = a_card_payment(amount_minor=amount_minor, purchases=lines, description=title, language=language)
    html = as_html(receipt_of(payment), "cid:logo")

    assert set(re.findall(r'style="([^"]*)"', html)) <= STYLES
    assert "<style" not in html


def test_both_say_the_same() -> None:
    payment = a_card_payment(purchases=bought(("Flat white", "12.30", "1")))
    paper = receipt_of(payment)

    for _, value in (*paper.facts, *paper.totals, *paper.payment):
        assert value in as_html(paper)
        assert value in as_text(paper)


def test_no_line_of_the_text_is_wider_than_a_printer() -> None:
    long = "Pneumonoultramicroscopicsilicovolcanoconiosis " * 4
    purchases = bought((long, "1", "1"), ("Gold", "0.123456789012345678901234567", "1.00000000000000001"))
    payment = a_payment(description=long, invoice="9" * 100, purchases=purchases)

    assert max(map(len, text_of(payment).splitlines())) == WIDTH


NAMES = {
    "small letters": "Straße ŉ Σοφός",
    "Sinhala": "ශ්\u200dරී ලංකා ක්\u200dරීඩා",
    "Persian": "می\u200cخواهم کتاب\u200cها",  # noqa: RUF001
    "emoji": "Café 👩\u200d🍳 ☕\ufe0f",
    "marks": "Cafe\u0301 Ze\u0302nith\u0323",
    "Japanese": "東京珈琲\u3000株式会社",
    "blanks": "Bean\u00a0&\u2009Leaf",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_printed_as_it_was_stored(name: str) -> None:
    payment = a_payment(merchant=replace(MERCHANT, name=name), description=name, purchases=bought((name, "12.30", "1")))
    text = text_of(payment)

    assert (receipt_of(payment).merchant, receipt_of(payment).notes[0]) == (name, name)
    assert text.count(name) >= 3
    assert html_of(payment).count(name.replace("&", "&amp;")) >= 3
    assert as_sms(payment).startswith(name)


@pytest.mark.parametrize("letter", "\x00\n\r\t\x7f\x85\u2028\u2029\u202a\u202e\u2066\u2069\u200f\u061c")
def test_a_character_that_breaks_a_line_or_turns_the_text_is_replaced(letter: str) -> None:
    payment = a_payment(merchant=replace(MERCHANT, name=f"A{letter}B"), invoice=f"1{letter}2")
    paper = receipt_of(payment)

    assert (paper.merchant, paper.facts[0][1]) == ("A B", "1 2")
    assert "A B" in as_sms(payment)


def columns(text: str) -> int:
    """Return the columns of a text on a receipt printer."""
    marks = [letter for letter in text if unicodedata.category(letter) in {"Mn", "Mc", "Me", "Cf"}]
    return len(text) - len(marks) + sum(unicodedata.east_asian_width(letter) in {"F", "W"} for letter in text)


@given(
    name=st.lists(st.sampled_from([*NAMES.values(), "long" * 12, "東" * 30, "👩\u200d🍳" * 15]), min_size=1, max_size=5)
)
def test_a_line_counts_wide_letters_as_two_and_marks_and_joiners_as_none(name: list[str]) -> None:
    text = " ".join(name)
    merchant = replace(MERCHANT, name=text, address=text)
    purchases = (Purchase(text, Decimal("12.30"), Decimal(1), ("VAT15",)), *bought((text, "1", "1")))
    taxes = (replace(VAT, name=text, gross_minor=10**12, tax_minor=10**12),)
    payment = a_payment(merchant=merchant, terminal_name=text, purchases=purchases, tax_amounts=taxes)
    lines = text_of(payment).splitlines()

    assert max(map(columns, lines)) <= WIDTH
    assert not [line for line in lines if line.strip()[:1] in {"\u200d", "\ufe0f", "\u0301"} or line.endswith("\u200d")]


VAT = TaxAmount("VAT15", "VAT", Decimal("15.0000"), 15950, 2080)
FREE = TaxAmount("VAT0", "Zero-rated", Decimal(0), 3600, 0)


def a_taxed_payment(**changes: Any) -> Transaction:
    purchases = (Purchase("Cake", Decimal("159.50"), Decimal(1), ("vat15",)), Purchase("Milk", Decimal(12), Decimal(3)))
    return a_payment(**{"amount_minor": 19550, "purchases": purchases, "tax_amounts": (VAT, FREE), **changes})


def test_a_discount_stands_under_its_line_with_its_percentage_when_it_is_one_and_the_sum_of_several_once() -> None:
    jacket, hat = (Purchase(title, Decimal("99.99"), Decimal(1)) for title in ("Jacket", "Hat"))
    lines = (replace(jacket, discount=Decimal("10.00")), replace(hat, discount=Decimal("10.45")))
    sale = a_payment(amount_minor=17953, purchases=lines)
    text = text_of(sale)

    assert [line.split() for line in text.splitlines() if "iscount" in line] == [
        ["Discount", "10", "%", "-10.00"],
        ["Discount", "-10.45"],
        ["All", "discounts", "-20.45"],
    ]
    assert "All discounts" not in text_of(a_payment(amount_minor=8999, purchases=lines[:1]))
    assert "Rounding" not in text
    assert "-10.45" in as_html(receipt_of(sale))
    back = a_payment(
        original_id="A", original_mode=2, phase=Phase.REVERSAL_APPROVED, amount_minor=8999, purchases=lines
    )
    assert ["1", "x", "99.99", "89.99"] in [line.split() for line in text_of(back).splitlines()]
    assert "iscount" not in text_of(back)


def test_a_tax_invoice_reads_like_one() -> None:
    lines = a_taxed_payment(amount_cash_got_minor=20000).receipt.purchases
    purchases = (lines[0], replace(lines[1], tax_codes=("VAT0", "CITY")))
    text = text_of(a_taxed_payment(purchases=purchases, taxes=Taxes(("VAT15", "OTHER"))))

    assert (
        text.partition("Date")[0]
        == """\
              Bean & Leaf
Bean and Leaf (Pty) Ltd, 12 Long Street
            +27 82 987 6543
           Tax no. 4123456789

              Tax invoice

Tax invoice no.             260314000001
"""
    )
    assert (
        text.partition("-" * WIDTH)[2].partition("Paid by")[0]
        == f"""
Cake
  1 x 159.50                      159.50
  VAT 15 %
Milk
  3 x 12.00                        36.00
  Zero-rated 0 %, Tax code CITY
{"-" * WIDTH}
PAID ZAR                        R 195.50
Tax codes                          OTHER
VAT 15 % in R 159.50: R 20.80
Zero-rated 0 % in R 36.00: R 0.00
{"-" * WIDTH}
"""
    )


@pytest.mark.parametrize(
    ("changes", "title", "has_taxes"),
    [
        ({"language": "af"}, "Belastingfaktuur", True),
        ({"tax_amounts": ()}, "Receipt", False),
        ({"tax_invoice": False}, "Receipt", True),  # it would need the buyer's name
        ({"phase": Phase.AWAITING_COMPLETION}, "Receipt", True),
        ({"merchant": replace(MERCHANT, tax_id=None)}, "Receipt", False),
        ({"merchant": replace(MERCHANT, tax_id=" -\u200b")}, "Receipt", False),
        ({"merchant": replace(MERCHANT, address=" ")}, "Receipt", True),
        ({"original_id": "X", "phase": Phase.REVERSAL_APPROVED, "original_mode": 2}, "Credit note", True),
        (
            {
                "original_id": "X",
                "phase": Phase.REVERSAL_APPROVED,
                "original_mode": 1,
                "language": "af",
                "tax_amounts": (),
                "tax_invoice": True,
            },
            "Kredietnota",
            False,
        ),
        (
            {"original_id": "X", "phase": Phase.REVERSAL_APPROVED, "original_mode": 2, "tax_invoice": False},
            "Return",
            True,
        ),
    ],
)
def test_a_receipt_is_headed_tax_invoice_only_if_it_is_one(
    changes: dict[str, Any],
    title: str,
    has_taxes: bool,  # noqa: FBT001
) -> None:
    payment = a_taxed_payment(**changes)
    paper = receipt_of(payment)

    shown = title if payment.is_invoiced else title.upper()
    assert (paper.title, paper.subject.startswith(f"{title} ")) == (shown, True)
    for text in (as_text(paper), as_html(paper)):
        assert bool(re.search(r"VAT 15 % in R 159[.,]50: R 20[.,]80", text)) == has_taxes
        assert re.search("tax invoice|belastingfaktuur", text, re.IGNORECASE) is None or title == "Belastingfaktuur"
    assert ("VAT 15 % in ZAR 159" in as_sms(payment)) == has_taxes


@pytest.mark.parametrize(
    ("currency", "rate", "printed"),
    [(YEN, "10", "GST 10 % in ¥ 15,950: ¥ 2,080"), (Currency("HUF", "348", 2), "27.50", "GST 27.5 % in HUF 159.50")],
)
def test_a_tax_is_printed_in_its_currency_and_rate(currency: Currency, rate: str, printed: str) -> None:
    tax = replace(VAT, name="GST", rate=Decimal(rate))

    assert printed in text_of(a_taxed_payment(currency=currency, tax_amounts=(tax,)))


def test_a_tax_of_nothing_is_not_printed_and_one_taken_again_is_negative() -> None:
    rows = (replace(VAT, gross_minor=0, tax_minor=2), replace(FREE, gross_minor=-790), replace(FREE, gross_minor=0))
    back = a_taxed_payment(tax_amounts=rows, original_id="X", phase=Phase.REVERSAL_APPROVED, original_mode=2)

    assert [" ".join(one) for one in receipt_of(back).taxes] == [
        "VAT 15 % in R 0.00: R 0.02",
        "Zero-rated 0 % in R -7.90: R 0.00",
    ]


def test_a_short_message_has_the_taxes_that_fit() -> None:
    assert as_sms(a_taxed_payment()).endswith(
        "receipt 260314000001, VAT 15 % in ZAR 159.50: ZAR 20.80, Zero-rated 0 % in ZAR 36.00: ZAR 0.00"
    )
    assert as_sms(a_taxed_payment(tax_amounts=(VAT,))).endswith("R 20.80, Tax no. 4123456789")
    assert as_sms(a_taxed_payment(tax_amounts=(replace(VAT, name="消費税"),))).endswith("260314000001")


def test_values_end_in_the_last_column() -> None:
    lines = text_of(a_payment(terminal_name="東京 ක්\u200dරී")).splitlines()

    assert [columns(line) for line in lines if line.startswith(("Terminal", "PAID"))] == [WIDTH, WIDTH]


def test_a_short_message_cuts_no_letter_apart() -> None:
    name = "👩\u200d🍳" * 40
    text = as_sms(a_payment(merchant=replace(MERCHANT, name=name)))

    shortened = text.partition(":")[0]
    assert len(shortened) % 3 == 0
    assert name.startswith(shortened)


def test_a_line_break_in_a_name_cannot_become_a_header() -> None:
    payment = a_payment(merchant=replace(MERCHANT, name="Shop\r\nBcc: all@shop.example"))
    paper = receipt_of(payment)

    assert "\n" not in paper.subject + paper.merchant + as_sms(payment)
    assert paper.subject == "Receipt from Shop  Bcc: all@shop.example: R 12.30"


def test_the_short_message_says_who_how_much_and_how() -> None:
    short = as_sms(a_card_payment())

    assert short == "Bean & Leaf: paid ZAR 12.30, card ..1111, 14 Mar 2026, 11:26 (UTC+2), receipt 260314000001"


@given(name=st.text(min_size=1, max_size=256), invoice=st.text(max_size=512), amount=st.integers(1, 10**12))
@example(name="[€]" * 50, invoice="1", amount=1230)  # each of these letters counts twice
@example(name="x" * 256, invoice="1" * 512, amount=1230)  # the name keeps ten letters, and the number is cut
def test_a_short_message_is_one_message_or_with_other_letters_two(name: str, invoice: str, amount: int) -> None:
    payment = a_card_payment(amount_minor=amount, invoice=invoice, merchant=replace(MERCHANT, name=name))
    text = as_sms(payment, stage="Payments-ZA", is_copy=True)

    assert text.startswith("Payments-ZA: Copy: ")
    if PLAIN.issuperset(text):
        assert len(text) + len(re.findall(r"[\^{}\\\[~\]|€]", text)) <= 160
    else:
        assert len(text.encode("utf-16-be")) <= 2 * 134


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("input_type", InputType)
def test_the_words_of_a_short_message_need_no_second_one(language: str, input_type: InputType) -> None:
    for payment in (a_payment(), a_reversal(original_mode=1), a_reversal()):
        text = as_sms(altered(payment, input_type=input_type, language=language), stage="Payments-ZA")

        assert PLAIN.issuperset(text)
        assert text.endswith(payment.invoice)


@given(pan=st.from_regex(r"555566[0-9]{6,13}", fullmatch=True))
def test_no_receipt_shows_a_card_number_nor_its_expiry(pan: str) -> None:
    payment = a_card_payment(id="A" * 36, card=CardDetails("VISA", pan[:6], pan[-4:], "0329", "T. Mokoena"))
    paper = receipt_of(payment)

    for words in (as_text(paper), as_html(paper), as_sms(payment)):
        assert pan[:6] not in words
        assert "0329" not in words.replace(pan[-4:], "")


@given(
    lines=st.lists(
        st.tuples(
            st.text(max_size=512),
            st.decimals(-(10**14), 10**14, places=5, allow_nan=False),
            st.decimals("0.00001", 10**14, places=5, allow_nan=False),
        ),
        max_size=5,
    )
)
def test_whatever_a_request_may_list_has_a_receipt(lines: list[tuple[str, Decimal, Decimal]]) -> None:
    purchases = [(title, str(price), str(quantity)) for title, price, quantity in lines]
    payment = a_payment(purchases=bought(*purchases))
    sums = [line.amount for line in receipt_of(payment).lines]

    for text, (_, price, quantity) in zip(sums, lines, strict=True):
        assert abs(Fraction(text.replace(",", "")) - Fraction(price) * Fraction(quantity)) <= Fraction("0.005")
        assert re.fullmatch(r"-?[0-9,]+\.[0-9]{2}", text)
    assert html_of(payment)
    assert text_of(payment)
