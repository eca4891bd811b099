"""Journals for hledger, beancount and Xero: the names of accounts, and the text of each format."""

import csv
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from chalicelib.domain.books import CLEARING, RETURNS, SALES, TAX, BookEntry, Posting, too_many
from chalicelib.domain.printed_text import JOINER, NON_JOINER
from chalicelib.errors import Check, Finding, invalid
from chalicelib.schemas.history_export import BookAccounts, neutral

Names = Mapping[str, str]  # of accounts, by the field that renames them
NamedPosting = tuple[str, Posting]
DEFAULTS: Names = {
    "cash": "Assets:Cash",
    CLEARING: "Assets:Clearing",
    "receivable": "Assets:Receivable",
    "prepaid": "Liabilities:Prepaid",
    SALES: "Income:Sales",
    RETURNS: "Income:Returns",
}
BEGINNING = "1970-01-01"  # beancount opens accounts and currencies on a day


@dataclass(frozen=True)
class Format:
    """A format of journals: its file, its rule for names of accounts, and its writer."""

    suffix: str
    accepts: Callable[[str, str], bool]  # a field, and the name in it
    example: str
    write: Callable[[Sequence[BookEntry], Names], str]


def findings_in(form: Format, accounts: BookAccounts) -> list[Finding]:
    """Return the findings about names that the format does not accept."""
    message = f"A name such as {form.example} is expected."
    wrong = [field for field, name in accounts.given.items() if not form.accepts(field, name)]
    return [Finding(f"accounts.{field}", Check.FORMAT, message) for field in wrong]


def _named(entry: BookEntry, names: Names) -> list[NamedPosting]:
    """Return the postings of an entry, each with the name of its account."""
    return [
        (names[one.account] + (f":{entry.tender}" if one.account == CLEARING else ""), one) for one in entry.postings
    ]


def _used(entries: Iterable[BookEntry], names: Names) -> dict[str, str]:
    """Return the fields of the accounts in use, by the names of these accounts."""
    return {name: one.account for entry in entries for name, one in _named(entry, names)}


def _is_hledger(field: str, name: str) -> bool:
    """Return whether hledger reads the name of an account as it is; a `TaxRate` is ignored."""
    return field == "tax_rate" or all(map(_is_hledger_part, name.split(":")))


def _is_hledger_part(part: str) -> bool:
    """Return whether it is a part of a name.

    Two blanks or `;` end a name, and `(`, `[`, `*` and `!` have a meaning before it.
    """
    is_whole = part == " ".join(part.split()) and not re.search('[;"]', part)
    return is_whole and part[:1].isalnum() and _is_printable(part)


def _is_printable(name: str) -> bool:
    """Return whether all characters have a form. Joiners are a part of Sinhala and Persian words."""
    return name.replace(JOINER, "").replace(NON_JOINER, "").isprintable()


TYPES_IN_HLEDGER = {
    "cash": "C",
    CLEARING: "A",
    "receivable": "A",
    "prepaid": "L",
    SALES: "R",
    RETURNS: "R",
    TAX: "L",
}
KNOWN_TO_HLEDGER = re.compile(
    r"(assets?|liabilit(y|ies)|debts?|equity|(income|revenue)s?|expenses?)(:.*)?", re.IGNORECASE
)


def _declarations(used: Names, names: Names) -> list[str]:
    """Return the declarations of accounts, with their types for the balance sheet unless all `names` tell them.

    One declared type makes hledger ignore the types that names tell, also those of the bookkeeper's other accounts. So
    the files of all months declare types or none does, whichever accounts a month uses.
    """
    if all(map(KNOWN_TO_HLEDGER.fullmatch, names.values())):
        return [f"account {name}" for name in sorted(used)]
    return [f"account {name}  ; type: {TYPES_IN_HLEDGER[used[name]]}" for name in sorted(used)]


def _hledger(entries: Sequence[BookEntry], given: Names) -> str:
    names = {**DEFAULTS, **given}
    digits = {entry.currency: 0 for entry in entries}
    for entry in entries:
        exponents = [one.amount.as_tuple().exponent for one in entry.postings]
        digits[entry.currency] = max(digits[entry.currency], *(-int(one) for one in exponents))
    lines = ["; Takings by day, currency and tender.", "decimal-mark ."]
    lines += [f"commodity 1000.{'0' * digits[currency]} {currency}" for currency in sorted(digits)]
    lines += _declarations(_used(entries, names), names)
    for entry in entries:
        lines += ["", f"{entry.day} ({entry.code}) Takings by {entry.tender}", *_lines(entry, names)]
    return "\n".join(lines) + "\n"


def _lines(entry: BookEntry, names: Names) -> Iterator[str]:
    """Yield the postings of an entry in the form that hledger and beancount share."""
    for name, one in _named(entry, names):
        yield f"    {name}  {one.amount:f} {entry.currency}  ; {one.text}"


ROOTS = frozenset({"Assets", "Liabilities", "Equity", "Income", "Expenses"})


def _is_beancount(field: str, name: str) -> bool:
    """Return whether it is a name of an account in beancount; a `TaxRate` is ignored."""
    if field == "tax_rate":
        return True
    root, *parts = name.split(":")
    return root in ROOTS and bool(parts or field == CLEARING) and all(map(_is_beancount_part, parts))


def _is_beancount_part(part: str) -> bool:
    """Return whether it begins with a capital or a digit, and has only letters, digits and hyphens."""
    categories = [unicodedata.category(character) for character in part]
    rest = zip(part, categories, strict=True)
    return categories[:1] in (["Lu"], ["Nd"]) and all(
        character == "-" or kind[0] == "L" or kind == "Nd" for character, kind in rest
    )


def _beancount(entries: Sequence[BookEntry], given: Names) -> str:
    names = {**DEFAULTS, **given}
    lines = ["; Takings by day, currency and tender."]
    lines += [f"{BEGINNING} commodity {currency}" for currency in sorted({entry.currency for entry in entries})]
    lines += [f"{BEGINNING} open {name}" for name in sorted(_used(entries, names))]
    for entry in entries:
        lines += ["", f'{entry.day} * "Takings by {entry.tender}" ^{entry.code}', *_lines(entry, names)]
    return "\n".join(lines) + "\n"


# The columns and the limit of Xero's template for manual journals.
XERO_COLUMNS = (
    *("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"),
    *("TrackingName1", "TrackingOption1", "TrackingName2", "TrackingOption2"),
)
MOST_LINES = 300
XERO_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_-]{0,9}")
LONGEST_TAX_RATE = 50


def _is_xero(field: str, name: str) -> bool:
    """Return whether it is the code of an account in Xero, or the name of a tax rate."""
    if field != "tax_rate":
        return XERO_CODE.fullmatch(name) is not None
    return _is_printable(name) and name == name.strip() == neutral(name) and len(name) <= LONGEST_TAX_RATE


def _xero(entries: Sequence[BookEntry], given: Names) -> str:
    needed = {"tax_rate"} | {one.account for entry in entries for one in entry.postings} if entries else set()
    if absent := [name for name in BookAccounts.model_fields if name in needed - set(given)]:
        message = "It occurs in these days, and Xero needs its code or name."
        raise invalid(*(Finding(f"accounts.{name}", Check.REQUIRED, message) for name in absent))
    file = StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(XERO_COLUMNS)
    lines = [(entry, one) for entry in entries for one in entry.postings]
    if len(lines) > MOST_LINES:
        raise too_many(MOST_LINES, "lines in Xero")
    for entry, one in lines:
        narration, day = f"{entry.code} Takings by {entry.tender}", f"{entry.day:%d/%m/%Y}"
        columns = [narration, day, one.text, given[one.account], given["tax_rate"], f"{one.amount:f}"]
        writer.writerow(columns + [""] * (len(XERO_COLUMNS) - len(columns)))
    return file.getvalue()


FORMATS = {
    "hledger": Format("journal", _is_hledger, "Assets:Petty cash", _hledger),
    "beancount": Format("beancount", _is_beancount, "Assets:Petty-Cash", _beancount),
    "xero": Format("csv", _is_xero, "200 (for TaxRate, Tax Exempt)", _xero),
}
