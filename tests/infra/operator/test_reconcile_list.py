from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from infra.operator import reconcile as operator_reconcile
from infra.operator.reconcile import WrongInputError, read_list
from tests.support.reconciliations import DAY, a_booking, as_csv, row_of

HEADER = "date,RRN,STAN,TID,type,amount,currency,approval code"
ROW = "2026-03-14,6JX2M0Q7TZ4A,000042,DEMO0001,purchase,12.30,ZAR,333380"
ASKED = replace(row_of(a_booking(rrn="6JX2M0Q7TZ4A", stan=42, tid="DEMO0001")), line=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "host.csv"


def test_a_list_that_is_written_is_read(path: Path) -> None:
    rows = [row_of(a_booking(), line=2), row_of(a_booking(type="refund"), line=3, approval_code="")]
    path.write_text(as_csv(rows))

    assert read_list(str(path)) == rows


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        "2026-03-14, 6JX2M0Q7TZ4A ,42,DEMO0001 ,Purchase,12.3,710,333380",
        '"2026-03-14", "6JX2M0Q7TZ4A", "42", "DEMO0001", "PURCHASE", "12.300", "zar", "333380"',
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_row_is_read_in_each_of_its_spellings(path: Path, row: str, mark: str, line_end: str) -> None:
    path.write_text(f"{mark}{HEADER}{line_end}{row}{line_end}", newline="")

    assert read_list(str(path)) == [ASKED]


@pytest.mark.parametrize(
    "header",
    [
        "Date,rrn,stan,tid,TYPE,Amount,Currency,ApprovalCode",
        "DATE,RRN,STAN,TID,TYPE,AMOUNT,CURRENCY,approval_code",
        "date , RRN, STAN , TID, type, amount, currency, Approval-Code",
    ],
)
def test_the_header_is_known_in_any_spelling(path: Path, header: str) -> None:
    path.write_text(f"{header}\n{ROW}\n")

    assert read_list(str(path)) == [ASKED]


def test_columns_stand_in_any_order_and_others_are_passed_over(path: Path) -> None:
    path.write_text(
        "bank,amount,date,RRN,STAN,TID,currency,type,approval code\n"
        "4,12.30,2026-03-14,6JX2M0Q7TZ4A,42,DEMO0001,ZAR,purchase,333380\n"
    )

    assert read_list(str(path)) == [ASKED]


def test_a_currency_that_lost_its_zeros_in_a_spreadsheet_is_known(path: Path) -> None:
    path.write_text(f"{HEADER}\n{ROW.replace('ZAR', '36')}\n")

    assert [row.currency for row in read_list(str(path))] == ["AUD"]


def test_an_amount_is_read_to_its_last_digit(path: Path) -> None:
    path.write_text(f"{HEADER}\n{ROW.replace('12.30', '9007199254740.993')}\n")

    assert [row.amount for row in read_list(str(path))] == [Decimal("9007199254740.993")]


def test_a_list_may_be_empty_and_have_empty_lines(path: Path) -> None:
    path.write_text(f"{HEADER}\n\n")
    empty = read_list(str(path))
    path.write_text(f"{HEADER}\n\n{ROW}\n\n")

    assert (empty, [row.line for row in read_list(str(path))]) == ([], [3])


@pytest.mark.parametrize(
    "header",
    [
        "",
        ROW,
        HEADER.replace(",", ";"),
        HEADER.replace(",", "\t"),
        HEADER.removesuffix(",approval code"),
        f"{HEADER},Amount",
    ],
)
def test_a_header_that_does_not_name_every_column_once_is_refused(path: Path, header: str) -> None:
    path.write_text(f"{header}\n{ROW}\n")

    with pytest.raises(WrongInputError, match="line 1: the header must name the columns date, RRN, STAN") as refused:
        read_list(str(path))
    assert "6JX2M0Q7TZ4A" not in str(refused.value)


@pytest.mark.parametrize(
    ("was", "cell", "column"),
    [
        *(("2026-03-14", cell, "date") for cell in ("", "0314", "2026-02-29", "20260314", "14.03.2026", "2026-W11-6")),
        *(("6JX2M0Q7TZ4A", cell, "RRN") for cell in ("", "6JX2M0Q7TZ4", "6jx2m0q7tz4a", "6JX2M0Q7TZ4AA")),
        *(("000042", cell, "STAN") for cell in ("", "0", "000000", "1000000", "-42", "4.2", "\u0664")),
        *(("DEMO0001", cell, "TID") for cell in ("", "DEMO00011", "D\x1b[2J", "DÉMO")),
        *(("purchase", cell, "type") for cell in ("", "sale", "000000")),
        *(("12.30", cell, "amount") for cell in ("", "-12.30", "1e3", "NaN", '"12,30"', "12.", ".5", "0x1F", "1" * 16)),
        *(("ZAR", cell, "currency") for cell in ("", "R", "ZZZ", "000", "XAU", "\u0667\u0661\u0660")),
        *(("333380", cell, "approval code") for cell in ("4111111111111111", "33 380", "\x1b[2J")),
    ],
)
def test_a_wrong_cell_is_named_by_line_and_column_and_not_quoted(path: Path, was: str, cell: str, column: str) -> None:
    path.write_text(f"{HEADER}\n{ROW}\n\n{ROW.replace(was, cell)}\n")

    with pytest.raises(WrongInputError, match=f"host.csv, line 4: {column} must be") as refused:
        read_list(str(path))
    assert len(cell) < 4 or cell not in str(refused.value)


@pytest.mark.parametrize("row", [ROW.rpartition(",")[0], f"{ROW},", "4111111111111111", ";".join(ROW.split(","))])
def test_a_row_with_too_few_or_too_many_cells_is_named_by_its_line(path: Path, row: str) -> None:
    path.write_text(f"{HEADER}\n{ROW}\n{row}\n")

    with pytest.raises(WrongInputError, match=r"line 3: 8 columns are expected, not \d\.$"):
        read_list(str(path))


@pytest.mark.parametrize(
    "row", [f'{ROW}\n"2026-03-14" x,', f'{ROW}\n"2026', f'{ROW}\n{ROW[:-6]}"333380', f"{ROW}\n{'x' * 200_000}"]
)
def test_text_that_is_no_csv_is_named_by_its_line(path: Path, row: str) -> None:
    path.write_text(f"{HEADER}\n{row}")

    with pytest.raises(WrongInputError, match="line 3: "):
        read_list(str(path))


def test_a_list_in_another_encoding_is_refused(path: Path) -> None:
    path.write_text(f"{HEADER}\n{ROW}\n", encoding="utf-16")

    with pytest.raises(WrongInputError, match="not UTF-8"):
        read_list(str(path))


def test_a_list_that_is_not_there_and_one_that_is_a_folder_are_refused(path: Path) -> None:
    with pytest.raises(WrongInputError, match=r"host\.csv: No such file or directory\.$"):
        read_list(str(path))
    with pytest.raises(WrongInputError, match="Is a directory"):
        read_list(str(path.parent))


def test_a_list_has_an_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_reconcile, "MAX_ROWS", 2)
    path.write_text(f"{HEADER}\n{ROW}\n{ROW}\n")
    assert len(read_list(str(path))) == 2
    path.write_text(f"{HEADER}\n{ROW}\n{ROW}\n{ROW}\n")

    with pytest.raises(WrongInputError, match="at most 2 rows"):
        read_list(str(path))


def test_the_day_of_a_row_is_a_date(path: Path) -> None:
    path.write_text(f"{HEADER}\n{ROW}\n")

    assert [row.day for row in read_list(str(path))] == [DAY]
