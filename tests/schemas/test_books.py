"""The journals: entries balance, their programs accept them and find the same sums, and no name breaks a file."""

import csv
import re
from collections import Counter, defaultdict
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from chalicelib.domain import books as domain
from chalicelib.domain.books import BookEntry, entries_of
from chalicelib.domain.history_entry import CounterKey
from chalicelib.domain.kinds import KINDS
from chalicelib.domain.takings import Moved
from chalicelib.domain.taxes import TaxAmount
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.books import FORMATS, findings_in
from chalicelib.schemas.history_export import BookAccounts
from chalicelib.settings import ACQUIRERS
from infra.reference import ROOT
from tests.support.book_programs import HLEDGER, each_program, needs_beancount, needs_hledger, run, sums

DAY = date(2026, 3, 14)
TENDERS = ("CASH", "PREPAID", "CREDIT", "OUTERCARD", "SANDBOX", "ISO8583", "STRIPE")
CURRENCIES = (("ZAR", 2), ("JPY", 0), ("BHD", 3))
CODES = {
    "cash": "800",
    "clearing": "801",
    "receivable": "610",
    "prepaid": "850",
    "sales": "200",
    "returns": "201",
    "tax": "820",
    "tax_rate": "Tax Exempt (0%)",
}
VAT = "Liabilities:VAT"
NAMES = {
    "CASH": "Assets:Cash",
    "PREPAID": "Liabilities:Prepaid",
    "CREDIT": "Assets:Receivable",
    "OUTERCARD": "Assets:Clearing:OUTERCARD",
    "SANDBOX": "Assets:Clearing:SANDBOX",
    "ISO8583": "Assets:Clearing:ISO8583",
    "STRIPE": "Assets:Clearing:STRIPE",
}
few_runs = settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
)


@st.composite
def counted(draw: st.DrawFn) -> Moved:
    """Return the money that one counter of a till took, or gave back, on a day."""
    currency, digits = draw(st.sampled_from(CURRENCIES))
    agent, input_type = draw(st.integers(1, 3)), draw(st.integers(1, 10))
    mode = draw(st.sampled_from((0, 1, 2)))
    counter = CounterKey(agent, input_type, mode, digits, currency, draw(st.sampled_from(TENDERS)))
    day = DAY + timedelta(days=draw(st.integers(0, 6)))
    number = draw(st.integers(0, 1000))
    minor = number and draw(st.integers(1, 10**15))
    amounts = draw(st.lists(st.integers(-minor, minor), max_size=2))
    return Moved(counter, day, None, number, minor, tuple(of_tax(amount) for amount in amounts))


def of_tax(minor: int) -> TaxAmount:
    return TaxAmount("VAT15", "VAT", Decimal(15), minor, minor)


def moved(
    *, tender: str = "CASH", minor: int = 1230, mode: int = 0, day: date = DAY, tax: int = 0, **changes: Any
) -> Moved:
    facts = {"agent_id": 17, "input_type": 10, "digits": 2, "currency": "ZAR", **changes}
    return Moved(CounterKey(reverse_mode=mode, acquirer=tender, **facts), day, None, 1, minor, (of_tax(tax),))


def written(form: str, entries: list[BookEntry], **names: str) -> bytes:
    return FORMATS[form].write(entries, names).encode()


def expected(form: str, many: list[Moved], *, splits_tax: bool = False) -> dict[tuple[str, str], Decimal]:
    """Add up the counters and their taxes."""
    found = defaultdict[tuple[str, str], Decimal](Decimal)
    for one in many:
        amount = Decimal(one.amount_minor).scaleb(-one.counter.digits)
        took = one.counter.reverse_mode == 0
        of_income, sign = ("Income:Sales", 1) if took else ("Income:Returns", -1)
        for name, part in ((NAMES[one.counter.acquirer], sign * amount), (of_income, -sign * amount)):
            field = {
                "Assets:Cash": "cash",
                "Assets:Receivable": "receivable",
                "Liabilities:Prepaid": "prepaid",
                "Income:Sales": "sales",
                "Income:Returns": "returns",
            }.get(name, "clearing")
            found[CODES[field] if form == "xero" else name, one.counter.currency] += part
    for one in many if splits_tax else ():
        for tax in one.taxes if one.amount_minor else ():
            amount, currency = Decimal(tax.tax_minor).scaleb(-one.counter.digits), one.counter.currency
            is_sale = one.counter.reverse_mode == 0
            split = ("Income:Sales", "200") if is_sale else ("Income:Returns", "201")
            for account, sign in ((split, 1), ((VAT, "820"), -1)):
                found[account[form == "xero"], currency] += amount * (sign if is_sale else -sign)
    return {key: amount for key, amount in found.items() if amount}


@pytest.mark.slow
@each_program
@few_runs
@given(many=st.lists(counted(), max_size=40))
def test_a_journal_is_accepted_and_sums_to_the_takings(program: str, tmp_path: Path, many: list[Moved]) -> None:
    for splits_tax in (False, True):
        names = CODES if program == "xero" else {"tax": VAT} if splits_tax else {}
        content = written(program, entries_of(many, splits_tax=splits_tax), **names)
        assert sums(program, content, tmp_path) == expected(program, many, splits_tax=splits_tax)


@given(many=st.lists(counted(), max_size=40), splits_tax=st.booleans())
def test_there_is_one_entry_for_a_day_a_currency_and_a_tender_and_it_balances(
    many: list[Moved],
    splits_tax: bool,  # noqa: FBT001
) -> None:
    entries = entries_of(many, splits_tax=splits_tax)

    assert [one.code for one in entries] == sorted(
        {f"{one.day}-{one.counter.currency}-{one.counter.acquirer}" for one in many if one.amount_minor}
    )
    for entry in entries:
        assert sum(one.amount for one in entry.postings) == 0
        assert all(one.amount for one in entry.postings)
        taxes = Counter[bool]()
        for one in many:
            own = one.day, one.counter.currency, one.counter.acquirer
            if one.amount_minor and own == (entry.day, entry.currency, entry.tender):
                tax = sum(part.tax_minor for part in one.taxes)
                taxes[one.counter.reverse_mode == 0] += tax * 10 ** (3 - one.counter.digits)  # thousandths
        wanted = [Decimal(taxes[taken]) / 1000 if splits_tax else 0 for taken in (True, False)]
        assert [entry.tax_taken, entry.tax_given_back] == wanted


@given(many=st.lists(counted(), max_size=40), others=st.lists(counted(), max_size=10), form=st.sampled_from([*FORMATS]))
def test_an_entry_stays_equal_to_the_byte_until_its_day_currency_and_tender_get_more(
    many: list[Moved], others: list[Moved], form: str
) -> None:
    def entry_texts(these: list[Moved]) -> dict[str, bytes]:
        return {one.code: written(form, [one], **(CODES if form == "xero" else {})) for one in entries_of(these)}

    touched = {one.code for one in entries_of(others)}
    before, after = entry_texts(many), entry_texts([*others, *reversed(many)])

    assert {code: text for code, text in after.items() if code not in touched} == {
        code: text for code, text in before.items() if code not in touched
    }


SALE_AND_RETURN = [moved(), moved(tender="SANDBOX", minor=5000), moved(tender="SANDBOX", minor=250, mode=2)]


def test_a_journal_for_hledger_looks_so() -> None:
    assert (
        written("hledger", entries_of(SALE_AND_RETURN)).decode()
        == """\
; Takings by day, currency and tender.
decimal-mark .
commodity 1000.00 ZAR
account Assets:Cash
account Assets:Clearing:SANDBOX
account Income:Returns
account Income:Sales

2026-03-14 (2026-03-14-ZAR-CASH) Takings by CASH
    Assets:Cash  12.30 ZAR  ; 1 payment
    Income:Sales  -12.30 ZAR  ; 1 payment

2026-03-14 (2026-03-14-ZAR-SANDBOX) Takings by SANDBOX
    Assets:Clearing:SANDBOX  50.00 ZAR  ; 1 payment
    Income:Sales  -50.00 ZAR  ; 1 payment
    Income:Returns  2.50 ZAR  ; 1 reversal
    Assets:Clearing:SANDBOX  -2.50 ZAR  ; 1 reversal
"""
    )


def test_a_journal_with_taxes_looks_so() -> None:
    many = [moved(tax=160), moved(tender="SANDBOX", minor=5000), moved(tender="SANDBOX", minor=250, mode=2, tax=33)]

    assert written("hledger", entries_of(many)) == written("hledger", entries_of(SALE_AND_RETURN))
    assert (
        written("hledger", entries_of(many, splits_tax=True), tax=VAT).decode().partition(f"account {VAT}\n")[2]
        == """
2026-03-14 (2026-03-14-ZAR-CASH) Takings by CASH
    Assets:Cash  12.30 ZAR  ; 1 payment
    Income:Sales  -10.70 ZAR  ; 1 payment
    Liabilities:VAT  -1.60 ZAR  ; 1 payment

2026-03-14 (2026-03-14-ZAR-SANDBOX) Takings by SANDBOX
    Assets:Clearing:SANDBOX  50.00 ZAR  ; 1 payment
    Income:Sales  -50.00 ZAR  ; 1 payment
    Income:Returns  2.17 ZAR  ; 1 reversal
    Liabilities:VAT  0.33 ZAR  ; 1 reversal
    Assets:Clearing:SANDBOX  -2.50 ZAR  ; 1 reversal
"""
    )


@pytest.mark.slow
@pytest.mark.parametrize(("digits", "currency", "minor"), [(0, "JPY", 1230), (2, "HUF", 123000), (3, "BHD", 1230)])
@each_program
def test_tax_of_the_whole_amount_and_tax_below_zero_balance(
    program: str, digits: int, currency: str, minor: int, tmp_path: Path
) -> None:
    facts: dict[str, Any] = {"digits": digits, "currency": currency, "minor": minor}
    many = [moved(tax=minor, **facts), moved(tender="SANDBOX", tax=-5, **facts), moved(mode=2, tax=-7, **facts)]
    content = written(program, entries_of(many, splits_tax=True), **(CODES if program == "xero" else {"tax": VAT}))

    assert sums(program, content, tmp_path) == expected(program, many, splits_tax=True)


def test_a_journal_for_beancount_looks_so() -> None:
    assert (
        written("beancount", entries_of(SALE_AND_RETURN), sales="Income:Shop", clearing="Assets:Bank").decode()
        == """\
; Takings by day, currency and tender.
1970-01-01 commodity ZAR
1970-01-01 open Assets:Bank:SANDBOX
1970-01-01 open Assets:Cash
1970-01-01 open Income:Returns
1970-01-01 open Income:Shop

2026-03-14 * "Takings by CASH" ^2026-03-14-ZAR-CASH
    Assets:Cash  12.30 ZAR  ; 1 payment
    Income:Shop  -12.30 ZAR  ; 1 payment

2026-03-14 * "Takings by SANDBOX" ^2026-03-14-ZAR-SANDBOX
    Assets:Bank:SANDBOX  50.00 ZAR  ; 1 payment
    Income:Shop  -50.00 ZAR  ; 1 payment
    Income:Returns  2.50 ZAR  ; 1 reversal
    Assets:Bank:SANDBOX  -2.50 ZAR  ; 1 reversal
"""
    )


def test_a_file_for_xero_has_its_columns() -> None:
    rows = list(csv.reader(StringIO(written("xero", entries_of(SALE_AND_RETURN), **CODES).decode(), newline="")))

    cash, card = ("2026-03-14-ZAR-CASH Takings by CASH", "2026-03-14-ZAR-SANDBOX Takings by SANDBOX")
    rate, none = "Tax Exempt (0%)", [""] * 4
    tracking = [f"Tracking{name}{number}" for number in (1, 2) for name in ("Name", "Option")]
    assert rows == [
        ["*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount", *tracking],
        [cash, "14/03/2026", "1 payment", "800", rate, "12.30", *none],
        [cash, "14/03/2026", "1 payment", "200", rate, "-12.30", *none],
        [card, "14/03/2026", "1 payment", "801", rate, "50.00", *none],
        [card, "14/03/2026", "1 payment", "200", rate, "-50.00", *none],
        [card, "14/03/2026", "1 reversal", "201", rate, "2.50", *none],
        [card, "14/03/2026", "1 reversal", "801", rate, "-2.50", *none],
    ]


@each_program
def test_days_without_takings_are_an_empty_journal(program: str, tmp_path: Path) -> None:
    assert entries_of([moved(minor=0)]) == []
    assert sums(program, written(program, []), tmp_path) == {}


def test_all_kinds_of_payment_at_one_acquirer_are_one_entry() -> None:
    (entry,) = entries_of([moved(tender="SANDBOX", input_type=number, agent_id=number) for number in (1, 2, 3)])

    assert (entry.code, entry.payments, entry.taken) == ("2026-03-14-ZAR-SANDBOX", 3, Decimal("36.90"))


def test_every_acquirer_has_a_code_that_is_part_of_a_name_in_each_program() -> None:
    codes = {*ACQUIRERS, *(kind.acquirer for kind in KINDS.values() if kind.acquirer)}

    assert codes <= set(TENDERS)
    assert all(code.isascii() and code.isalnum() and code.isupper() for code in codes)


OWN_ACCOUNTS = ("Assets:Cash", "Assets:Clearing:SANDBOX", "Liabilities:Prepaid")


@needs_hledger
@pytest.mark.parametrize(
    ("names", "others", "expected"),
    [
        ({}, "Assets:Bank", {*OWN_ACCOUNTS, "Assets:Bank"}),
        (
            {"cash": "Kasse", "sales": "Erlöse aus Verkauf", "clearing": "Bank & Co (offen)"},
            "Expenses:Other",
            {"Kasse", "Bank & Co (offen):SANDBOX", "Liabilities:Prepaid"},
        ),
        ({"tax": "Assets:VAT"}, "Assets:Bank", {*OWN_ACCOUNTS, "Assets:VAT", "Assets:Bank"}),
        ({"tax": "Umsatzsteuer"}, "Expenses:Other", {*OWN_ACCOUNTS, "Umsatzsteuer"}),
    ],
    ids=["names by default", "other names", "an account for tax", "another name for tax"],
)
def test_accounts_are_in_the_balance_sheet_of_hledger(
    tmp_path: Path, names: dict[str, str], others: str, expected: set[str]
) -> None:
    many = [moved(tender=tender, tax=160) for tender in ("CASH", "PREPAID", "SANDBOX")]
    of_bookkeeper = f"\n2026-03-15 Another\n    {others}  1.00 ZAR\n    Equity:Owner\n".encode()
    file = tmp_path / "books.journal"
    file.write_bytes(written("hledger", entries_of(many, splits_tax="tax" in names), **names) + of_bookkeeper)

    sheet = run(HLEDGER, "-f", file, "balancesheet", "--flat", "-O", "csv")
    shown = {row[0] for row in csv.reader(StringIO(sheet)) if "ZAR" in row[-1]}
    assert {name for name in shown if name.lower() not in {"total", "net:"}} == expected


@needs_hledger
def test_a_month_with_another_account_hides_none_of_the_first_month_from_hledger(tmp_path: Path) -> None:
    months = ([moved(tender="SANDBOX")], [moved(day=DAY + timedelta(days=30))])
    for number, many in enumerate(months):
        (tmp_path / f"{number}.journal").write_bytes(written("hledger", entries_of(many), cash="Kasse"))
    files = [part for number in range(2) for part in ("-f", tmp_path / f"{number}.journal")]

    sheet = run(HLEDGER, *files, "balancesheet", "--flat", "-O", "csv")
    assert all(name in sheet for name in ("Kasse", "Assets:Clearing:SANDBOX"))


@pytest.mark.parametrize("name", ["Kasse", "Assets:Kasse"])
@pytest.mark.parametrize("account", ["cash", "clearing", "receivable", "prepaid", "sales", "returns", "tax"])
def test_the_files_of_all_months_declare_types_for_hledger_or_none_does(account: str, name: str) -> None:
    months = [[moved(tender=tender, mode=mode, tax=1)] for tender in NAMES for mode in (0, 1)]
    names = {"tax": VAT, account: name}
    found = [written("hledger", entries_of(many, splits_tax=True), **names) for many in months]

    assert {b"; type:" in text for text in found} == {name == "Kasse"}


@needs_beancount
def test_a_month_with_new_accounts_joins_the_others_as_the_guide_says(tmp_path: Path) -> None:
    months = ([moved()], [moved(day=DAY + timedelta(days=30)), moved(tender="SANDBOX", day=DAY + timedelta(days=31))])
    for number, many in enumerate(months):
        (tmp_path / f"takings-{number}.beancount").write_bytes(written("beancount", entries_of(many)))
    commands = re.findall(r"^grep .*", (ROOT / "docs" / "books.md").read_text(encoding="utf-8"), re.MULTILINE)
    run("/bin/sh", "-c", f"cd {tmp_path}; " + "; ".join(commands))

    content = b'include "accounts.beancount"\ninclude "entries.beancount"\n'
    assert len(commands) == 2
    assert sums("beancount", content, tmp_path) == expected("beancount", [*months[0], *months[1]])


# Names


def refused(form: str, **names: str) -> bool:
    return bool(findings_in(FORMATS[form], BookAccounts.model_construct(None, **names)))


BREAKING = ("\n", "\r", "\t", ";", '"', "  ", "\0", "\u00a0", "\u2028", "\x85", "\u200b", "\u202e", "\ud7ff\u3000")
ODD = st.builds(
    "".join,
    st.tuples(
        st.sampled_from("aZ9Ä字"),
        st.text(st.sampled_from("aZ9Ä:;\"'()[]{}*!|#%@=<>~&\\/-_.,+^ é½²ǅʰ字\t\n\u00a0"), max_size=6),
    ),
)


def posted(form: str, name: str, folder: Path) -> Any:
    """Return the sums of a journal in which cash has this name."""
    return sums(form, written(form, entries_of([moved()]), cash=name), folder)


@pytest.mark.slow
@needs_hledger
@settings(few_runs, max_examples=8)
@example("2026-03-14")
@example("Assets:ක්\u200dරෙඩිට්")
@example("Assets:می\u200cخواهم")  # noqa: RUF001
@example("12.30 ZAR")
@example("Assets:a = 5 ZAR")
@example("Assets:a @ 2 JPY")
@example("Assets:Cash)")
@given(ODD)
def test_hledger_reads_every_accepted_name_as_it_is(tmp_path: Path, name: str) -> None:
    assume(not refused("hledger", cash=name) and not name.startswith("Income:Sales"))

    assert (name, "ZAR") in posted("hledger", name, tmp_path)


@pytest.mark.slow
@needs_beancount
@settings(few_runs, max_examples=8)
@example("Assets:9-a")
@example("Assets:Äß")
@example("Assets:9字:2-")
@given(
    st.lists(st.text(st.sampled_from("AZÄ90azß字-ʰ"), min_size=1, max_size=5), min_size=1, max_size=3).map(
        lambda parts: ":".join(["Assets", *parts])
    )
)
def test_beancount_reads_every_accepted_name_as_it_is(tmp_path: Path, name: str) -> None:
    assume(not refused("beancount", cash=name))

    assert (name, "ZAR") in posted("beancount", name, tmp_path)


@pytest.mark.parametrize("breaking", BREAKING, ids=ascii)
@pytest.mark.parametrize("form", FORMATS)
def test_no_name_ends_a_line_a_text_or_a_cell(form: str, breaking: str) -> None:
    for name in (f"Assets:Cash{breaking}X", f"{breaking}Assets:Cash", f"200{breaking}", f"20{breaking}1"):
        for field in CODES:
            if field != "tax_rate":
                assert refused(form, **{field: name}), (field, name)


@pytest.mark.parametrize(
    "name",
    [
        *("Kasse:Laden", "assets:Cash", "Assets", "Assets:", "Assets::Cash", ":Assets:Cash", "Assets:cash"),
        *("Assets:Petty cash", "Assets:Cash_1", "Assets:-A", "Assets:Cash:", "Assets:½", "Assets:ʰ", "Revenue:Sales"),
    ],
)
def test_a_name_that_beancount_refuses_is_refused(name: str) -> None:
    assert refused("beancount", cash=name)


@pytest.mark.parametrize("name", ["Assets:Cash", "Assets:2026:Till-1", "Income:Erlöse", "Equity:A", "Expenses:Rück"])
def test_a_name_that_beancount_takes_is_accepted(name: str) -> None:
    assert not refused("beancount", cash=name)
    assert not refused("beancount", clearing="Assets")
    assert not refused("beancount", tax_rate="anything\n")


@pytest.mark.parametrize("name", ["cash", "assets:bank:till", "Assets:Petty cash", "Revenue:Größe L", "1000:Kasse"])
def test_a_name_that_hledger_takes_is_accepted(name: str) -> None:
    assert not refused("hledger", cash=name)


@pytest.mark.parametrize(
    "name",
    [
        "Assets:",
        ":Cash",
        "a::b",
        "(Assets:Cash)",
        "[Assets:Cash]",
        "*Cash",
        "! Cash",
        "a ",
        " a",
        "a:b ;c",
        "Assets: a",
    ],
)
def test_a_name_that_means_something_else_to_hledger_is_refused(name: str) -> None:
    assert refused("hledger", cash=name)


@pytest.mark.parametrize("code", ["200", "SALES", "200/1", "1-1000", "12.5", "0123456789"])
def test_a_code_of_xero_is_accepted(code: str) -> None:
    assert not refused("xero", cash=code)


@pytest.mark.parametrize("code", ["-200", "=1+1", "+1", "@A1", "'200", "200,1", "01234567890", "200 ", "Größe", "2:1"])
def test_a_text_that_is_no_code_of_xero_is_refused(code: str) -> None:
    assert refused("xero", cash=code)


@pytest.mark.parametrize("name", ["Tax Exempt", "15% VAT on Sales", "TVA à 20 %", 'Rate "A", reduced'])
def test_a_tax_rate_is_any_text_on_a_line(name: str) -> None:
    assert not refused("xero", tax_rate=name)
    content = written("xero", entries_of([moved()]), **CODES | {"tax_rate": name})
    assert {row["*TaxRate"] for row in csv.DictReader(StringIO(content.decode(), newline=""))} == {name}


@pytest.mark.parametrize("name", ["=1+1", "-1", "a;=1", "a\nb", "a\tb", " a", "a ", "\u200b=1", "+1", "@A", "x" * 51])
def test_a_tax_rate_that_a_spreadsheet_would_compute_or_break_is_refused(name: str) -> None:
    assert refused("xero", tax_rate=name)


def test_every_wrong_name_is_a_finding_under_its_field() -> None:
    found = findings_in(FORMATS["beancount"], BookAccounts(Cash="till", Sales="Income:Sales", Prepaid="x;y"))

    assert [(one.field, one.code) for one in found] == [("accounts.cash", 3), ("accounts.prepaid", 3)]


# Limits


def test_xero_needs_a_code_for_each_account_that_occurs_and_a_tax_rate() -> None:
    with pytest.raises(ServiceError) as refusal:
        written("xero", entries_of(SALE_AND_RETURN), cash="800", prepaid="850")

    assert refusal.value.error is ErrorCode.VALIDATION_FAILED
    assert [(one.field, one.code) for one in refusal.value.validations] == [
        (f"accounts.{name}", 1) for name in ("sales", "returns", "clearing", "tax_rate")
    ]


def test_xero_gets_at_most_300_lines() -> None:
    entries = entries_of(moved(day=DAY + timedelta(days=number)) for number in range(151))

    assert len(written("xero", entries[:150], **CODES).splitlines()) == 301
    with pytest.raises(ServiceError) as refusal:
        written("xero", entries, **CODES)
    assert refusal.value.error is ErrorCode.PERIOD_TOO_LONG
    assert refusal.value.message == "A journal has at most 300 lines in Xero: narrow the period."


def test_a_journal_has_a_largest_number_of_entries() -> None:
    many = [moved(day=DAY + timedelta(days=number)) for number in range(domain.MOST_ENTRIES)]

    assert len(entries_of([*many, many[0]])) == domain.MOST_ENTRIES
    with pytest.raises(ServiceError) as refusal:
        entries_of([*many, moved(tender="SANDBOX")])
    assert refusal.value.error is ErrorCode.PERIOD_TOO_LONG
