from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import AgentSnapshot, CardDetails, Transaction
from chalicelib.settings import SettingsError, settings
from chalicelib.store import history, merchants, sequences, transactions
from chalicelib.store.aws_client import RefusedError, UnansweredError
from chalicelib.store.table import BATCH, update, write_one
from infra.operator import commands as operator
from infra.operator.reconciliation import books_of
from tests.support.giving import Give
from tests.support.intercepted_calls import failing
from tests.support.reconciliations import DAY, a_purchase, a_reversal, listed
from tests.support.transactions import a_guid, altered

pytestmark = pytest.mark.usefixtures("engine")

HOUR, TICK = timedelta(hours=1), timedelta(microseconds=1)
Reconcile = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def acquirer() -> str:
    """An acquirer of this test's own: the tables hold what others did."""
    return f"HOST{a_guid()[:8]}"


@pytest.fixture
def client_id() -> int:
    return sequences.next_id(merchants.TABLE)


@pytest.fixture
def shop(acquirer: str, client_id: int) -> dict[str, Any]:
    """What the transactions of a test have in common."""
    return {"acquirer": acquirer, "client_id": client_id}


@pytest.fixture
def reconcile(acquirer: str, tmp_path: Path, give: Give, capsys: pytest.CaptureFixture[str]) -> Reconcile:
    """Run the command over a list; the exit status and the lines."""
    give(settings=replace(settings(), acquirers=("SANDBOX", acquirer)))
    path = tmp_path / "host.csv"

    def run(text: str, day: date | str = DAY, named: str = acquirer) -> tuple[int, list[str]]:
        path.write_text(text, newline="")
        status = 0
        try:
            operator.main(["reconcile", "--acquirer", named, "--date", str(day), "--file", str(path)])
        except SystemExit as stopped:
            status = int(str(stopped.code))
        printed = capsys.readouterr()
        assert bool(printed.err) == (status == 2)
        return status, (printed.out + printed.err).splitlines()

    return run


def kept(transaction: Transaction) -> Transaction:
    """Store it as the service does: first as sent, then with its outcome."""
    first = Phase.SENT if not transaction.is_reversal else Phase.RETURNING
    if transaction.original.mode == ReverseMode.CANCEL:
        first = Phase.CANCELLING
    sent = altered(transaction, phase=first, approval_code=None)
    if transaction.is_reversal:
        original = transactions.get(transaction.original.id or "")
        assert original is not None
        transactions.reserve(original, sent)
    else:
        transactions.record(sent)
    if transaction.phase is not first:
        beside = [transactions.release(transaction)] if transaction.is_reversal else []
        writes = (*beside, *history.writes_for_outcome(transaction))
        transactions.store_step(sent, transaction, transaction.created_at, *writes)
    return transaction


def at(transaction: Transaction) -> str:
    return f"merchant {transaction.client_id}, terminal {transaction.terminal_name}"


def summary(acquirer: str, differences: int, open_ones: int, here: int, there: int) -> str:
    counts = f"{differences} differences, {open_ones} open; {here} in our books, {there} in the list."
    return f"{acquirer}, 2026-03-14: {counts}"


def test_a_list_that_agrees_has_no_difference(reconcile: Reconcile, acquirer: str, shop: dict[str, Any]) -> None:
    purchase = kept(a_purchase(**shop, phase=Phase.AWAITING_COMPLETION))
    refunded = kept(a_purchase(**shop))
    refund = kept(a_reversal(refunded, ReverseMode.RETURN))

    assert reconcile(listed(purchase, refund, refunded)) == (0, [summary(acquirer, 0, 0, 3, 3)])


def test_what_was_taken_back_declined_or_never_made_is_not_expected_in_the_list(
    reconcile: Reconcile, acquirer: str, shop: dict[str, Any]
) -> None:
    cancelled = kept(a_purchase(**shop))
    kept(a_reversal(cancelled, ReverseMode.CANCEL, agent=AgentSnapshot(99, "other@shop.example", "Other", "")))
    for phase in (Phase.DECLINED, Phase.REJECTED):
        kept(a_purchase(**shop, phase=phase))
    given = kept(a_purchase(**shop))
    kept(a_reversal(given, ReverseMode.RETURN, phase=Phase.REJECTED))
    kept(a_reversal(given, ReverseMode.CANCEL, phase=Phase.DECLINED))

    assert reconcile(listed(given)) == (0, [summary(acquirer, 0, 0, 1, 1)])


def test_each_side_is_told_what_it_misses(reconcile: Reconcile, acquirer: str, shop: dict[str, Any]) -> None:
    ours, theirs = kept(a_purchase(**shop)), a_purchase(**shop)

    assert reconcile(listed(theirs)) == (
        1,
        [
            f"{ours.id}  {ours.result.rrn}  missing there  ours purchase 12.30 ZAR, theirs -; {at(ours)}",
            f"{'-':<36}  {theirs.result.rrn}  missing here   ours -, theirs purchase 12.30 ZAR; terminal SHOP0001",
            summary(acquirer, 2, 0, 1, 1),
        ],
    )


def test_every_field_that_differs_is_named(reconcile: Reconcile, acquirer: str, shop: dict[str, Any]) -> None:
    purchase = kept(a_purchase(**shop))
    assert purchase.host is not None
    text = (
        "date,RRN,STAN,TID,type,amount,currency,approval code\n"
        f"2026-03-15,{purchase.result.rrn},999999,SHOP0009,refund,12.31,840,A1B2C3\n"
    )

    status, lines = reconcile(text)

    end = f"; {at(purchase)}"
    start = f"{purchase.id}  {purchase.result.rrn}  "
    assert (status, lines) == (
        1,
        [
            f"{start}date           ours 2026-03-14, theirs 2026-03-15{end}",
            f"{start}type           ours purchase, theirs refund{end}",
            f"{start}amount         ours 12.30, theirs 12.31{end}",
            f"{start}currency       ours ZAR, theirs USD{end}",
            f"{start}approval code  ours 333380, theirs A1B2C3{end}",
            f"{start}TID            ours SHOP0001, theirs SHOP0009{end}",
            f"{start}STAN           ours {purchase.host.trace.stan:06d}, theirs 999999{end}",
            summary(acquirer, 7, 0, 1, 1),
        ],
    )


@pytest.mark.parametrize("phase", [Phase.DECLINED, Phase.UNKNOWN])
def test_a_listed_purchase_that_our_books_do_not_count_differs_in_its_state(
    reconcile: Reconcile, acquirer: str, shop: dict[str, Any], phase: Phase
) -> None:
    purchase = kept(a_purchase(**shop, phase=phase))

    assert reconcile(listed(replace(purchase, phase=Phase.APPROVED))) == (
        1,
        [
            (
                f"{purchase.id}  {purchase.result.rrn}  state          "
                f"ours {phase.name.lower()}, theirs listed; {at(purchase)}"
            ),
            summary(acquirer, 1, 0, 0, 1),
        ],
    )


def test_a_cancelled_purchase_in_the_list_differs_in_its_state(
    reconcile: Reconcile, acquirer: str, shop: dict[str, Any]
) -> None:
    purchase = kept(a_purchase(**shop))
    kept(a_reversal(purchase, ReverseMode.CANCEL))

    status, lines = reconcile(listed(purchase))

    assert status == 1
    assert lines == [
        f"{purchase.id}  {purchase.result.rrn}  state          ours cancelled, theirs listed; {at(purchase)}",
        summary(acquirer, 1, 0, 0, 1),
    ]


def test_what_is_pending_and_not_listed_is_named_and_is_no_difference(
    reconcile: Reconcile, acquirer: str, shop: dict[str, Any]
) -> None:
    sent = kept(a_purchase(**shop, phase=Phase.SENT))
    cancelling = kept(a_purchase(**shop))
    kept(a_reversal(cancelling, ReverseMode.CANCEL, phase=Phase.CANCELLING))
    original = kept(a_purchase(**shop))
    returning = kept(a_reversal(original, ReverseMode.RETURN, phase=Phase.RETURNING))

    status, lines = reconcile(listed(original))

    assert (status, lines) == (
        0,
        [
            f"{sent.id}  {sent.result.rrn}  open           ours purchase 12.30 ZAR, sent, theirs -; {at(sent)}",
            (
                f"{cancelling.id}  {cancelling.result.rrn}  open           "
                f"ours purchase 12.30 ZAR, cancelling, theirs -; {at(cancelling)}"
            ),
            (
                f"{returning.id}  {returning.result.rrn}  open           "
                f"ours refund 12.30 ZAR, returning, theirs -; {at(returning)}"
            ),
            summary(acquirer, 0, 3, 1, 1),
        ],
    )


def test_the_day_is_that_of_the_merchants_zone(reconcile: Reconcile, acquirer: str, shop: dict[str, Any]) -> None:
    begin = datetime(2026, 3, 14, tzinfo=UTC) - 2 * HOUR  # GMT+2
    first, last, before, after = (
        kept(a_purchase(**shop, created_at=at))
        for at in (begin, begin + 24 * HOUR - TICK, begin - TICK, begin + 24 * HOUR)
    )
    west = {**shop, "client_id": sequences.next_id(merchants.TABLE), "gmt": -11}
    there = kept(a_purchase(**west, created_at=datetime(2026, 3, 15, 10, tzinfo=UTC)))

    assert reconcile(listed(first, last, there)) == (0, [summary(acquirer, 0, 0, 3, 3)])
    status, lines = reconcile(listed(first, last, there, before, after))

    assert (status, len(lines)) == (1, 3)


def test_a_year_ends_and_begins_in_two_months(reconcile: Reconcile, shop: dict[str, Any]) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC) - 2 * HOUR
    old, new = (kept(a_purchase(**shop, created_at=at)) for at in (begin - TICK, begin))

    assert reconcile(listed(new).replace(str(DAY), "2026-01-01"), date(2026, 1, 1))[0] == 0
    assert reconcile(listed(old).replace(str(DAY), "2025-12-31"), date(2025, 12, 31))[0] == 0


def test_the_books_are_of_one_acquirer_over_all_merchants_and_agents(acquirer: str, client_id: int) -> None:
    other = sequences.next_id(merchants.TABLE)
    agents = [AgentSnapshot(number, "till@shop.example", "Till", "") for number in (17, 170)]
    mine = [
        kept(a_purchase(acquirer=acquirer, client_id=merchant, agent=agent))
        for merchant in (client_id, other)
        for agent in agents
    ]
    kept(a_purchase(acquirer=f"{acquirer}B", client_id=client_id))
    kept(a_purchase(acquirer="SANDBOX", client_id=client_id))

    found = books_of(acquirer, DAY)

    assert sorted(one.id for one in found) == sorted(one.id for one in mine)


def test_a_day_of_more_transactions_than_are_read_at_once_is_read_whole(acquirer: str, shop: dict[str, Any]) -> None:
    mine = [kept(a_purchase(**shop)) for _ in range(BATCH + 1)]

    assert sorted(one.id for one in books_of(acquirer, DAY)) == sorted(one.id for one in mine)


def test_a_total_that_went_wrong_hides_no_transaction(acquirer: str, shop: dict[str, Any]) -> None:
    purchase = kept(a_purchase(**shop))
    by_day, _ = history.additions(purchase.client_id, entry_of(purchase))
    write_one(update(by_day.key, {"n14": 0}))

    assert [one.id for one in books_of(acquirer, DAY)] == [purchase.id]


def test_no_card_data_is_printed(reconcile: Reconcile, shop: dict[str, Any]) -> None:
    kept(a_purchase(**shop, card=CardDetails("VISA", "411111", "1111", "1249")))

    printed = "\n".join(reconcile(listed())[1])

    assert "411111" not in printed
    assert "VISA" not in printed


@pytest.mark.parametrize(
    ("day", "named", "message"),
    [
        ("2026-02-30", None, "The date must be"),
        ("20260314", None, "The date must be"),
        ("yesterday", None, "The date must be"),
        ("9999-12-31", None, "The date must be"),
        (DAY, "NOBODY", "There is no acquirer NOBODY: ACQUIRERS names SANDBOX, HOST"),
        (DAY, "", "There is no acquirer"),
    ],
)
def test_a_wrong_date_and_an_unknown_acquirer_are_one_line(
    reconcile: Reconcile, acquirer: str, day: date | str, named: str | None, message: str
) -> None:
    status, lines = reconcile(listed(), day, acquirer if named is None else named)

    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith(message)


def test_a_list_that_cannot_be_read_is_one_line(reconcile: Reconcile, shop: dict[str, Any]) -> None:
    status, lines = reconcile(listed(a_purchase(**shop)).replace("12.30", "much"))

    assert (status, len(lines)) == (2, 1)
    assert lines[0].endswith("host.csv, line 2: amount must be a decimal number such as 12.30.")


def test_a_file_that_is_not_there_is_one_line(
    reconcile: Reconcile, acquirer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del reconcile
    arguments = ["reconcile", "--acquirer", acquirer, "--date", str(DAY), "--file", "/nowhere/host.csv"]

    with pytest.raises(SystemExit) as stopped:
        operator.main(arguments)

    assert stopped.value.code == 2
    assert capsys.readouterr() == ("", "/nowhere/host.csv: No such file or directory.\n")


REFUSED = RefusedError("Query", "AccessDeniedException")


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (UnansweredError(), "The store is out of reach."),
        (REFUSED, "The store refused: AccessDeniedException."),
        (SettingsError("The setting TABLE_PREFIX is missing."), "The setting TABLE_PREFIX is missing."),
    ],
)
def test_books_that_cannot_be_read_are_no_difference(
    reconcile: Reconcile, give: Give, failure: BaseException, message: str
) -> None:
    give(client=failing(failure))

    assert reconcile(listed()) == (2, [message])
