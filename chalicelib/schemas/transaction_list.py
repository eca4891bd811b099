"""The list wrapper of history and by-ID queries, and the public status of one transaction."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

from chalicelib.domain.history import PAGE_SIZE, Page, page_count
from chalicelib.domain.transaction import Transaction
from chalicelib.schemas.base import Answer, View
from chalicelib.schemas.transaction_view import ResultView, Section, SignUrl, TransactionView, status_of, wire_state


class Counters(View):
    """Paging information; AmountCvt is the sum of the amounts of everything the filter matches."""

    amount_cvt: Decimal
    pagesize: int = PAGE_SIZE
    item_count_page: int
    item_count_ttl: int
    page_count: int


class TransactionList(Answer):
    """The list wrapper of history, by-ID and external-ID queries."""

    days: list[dict[str, Any]] | None = None
    not_finished_actual_trans: list[TransactionView]
    in_process: list[TransactionView]
    transactions: list[TransactionView]
    transactions_counters: Counters

    @classmethod
    def of(cls, page: Page, now: datetime, gmt: int | None, sign: SignUrl) -> Self:
        """Return a page, each transaction in its section: pending, awaiting completion, and all others."""
        sections = _sections(page.transactions, now, gmt, sign)
        return cls(
            not_finished_actual_trans=sections[Section.NOT_FINISHED],
            in_process=sections[Section.IN_PROCESS],
            transactions=sections[Section.TRANSACTIONS],
            transactions_counters=Counters(
                amount_cvt=page.amount,
                item_count_page=len(page.transactions),
                item_count_ttl=page.total,
                page_count=page_count(page.total),
            ),
        )

    @classmethod
    def of_one(cls, page: Page, now: datetime, gmt: int | None, sign: SignUrl) -> Self:
        """Return the answer by ID: the transaction in Transactions and, while unfinished, in its own section too."""
        sections = _sections(page.transactions, now, gmt, sign)
        shown = [view for views in sections.values() for view in views]
        return cls(
            not_finished_actual_trans=sections[Section.NOT_FINISHED],
            in_process=sections[Section.IN_PROCESS],
            transactions=shown,
            transactions_counters=Counters(amount_cvt=page.amount, item_count_page=1, item_count_ttl=1, page_count=1),
        )


def _sections(
    transactions: Sequence[Transaction], now: datetime, gmt: int | None, sign: SignUrl
) -> dict[Section, list[TransactionView]]:
    sections: dict[Section, list[Any]] = {section: [] for section in Section}
    for transaction in transactions:
        sections[wire_state(transaction).section].append(TransactionView.of(transaction, now, gmt, sign))
    return sections


class PublicStatus(View):
    """The seven fields anybody who knows the ID may see."""

    id: str
    state: int
    substate: int
    result_code: int | None
    result_message: str | None
    status: str
    is_archive: bool = False


class StatusAnswer(Answer):
    """The answer of statusPublic; for an unknown ID the transaction is null, which is no error."""

    transaction: PublicStatus | None = None

    @classmethod
    def of(cls, transaction: Transaction | None, now: datetime) -> Self:
        """Return the public fields of the transaction at `now`, null for an unknown one."""
        if transaction is None:
            return cls()
        shown, result = wire_state(transaction), ResultView.of(transaction)
        status = PublicStatus(
            id=transaction.id,
            state=shown.state,
            substate=shown.substate,
            result_code=result.code if result else None,
            result_message=result.message if result else None,
            status=status_of(transaction, now),
        )
        return cls(transaction=status)
