"""Count messages before they are stored, and withhold those beyond a limit. The change that they report is made."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from chalicelib.domain import message_limits as limits
from chalicelib.domain.message_limits import Limit
from chalicelib.domain.outbox import RECEIPT, WELCOME, Outbox
from chalicelib.domain.transaction import ReceiptContent, Transaction
from chalicelib.gateways.secrets import pseudonym
from chalicelib.log import log
from chalicelib.phone_numbers import sms_country
from chalicelib.settings import settings
from chalicelib.store import message_limits as store
from chalicelib.store import outbox as outbox_store
from chalicelib.store.message_limits import LimitReachedError
from chalicelib.store.retries import retry_with
from chalicelib.store.table import Write, commit

ADDRESS = "address"  # the kind of the pseudonyms in the counters' names


def admit(
    addresses: Sequence[str],
    merchant_id: int,
    agent_id: int,
    now: datetime,
    *,
    writes: Callable[[tuple[str, ...]], Sequence[Write]] = lambda _: (),
) -> tuple[str, ...]:
    """Return the addresses that may get a message of this agent, and count these messages.

    The messages count with `writes(admitted)`, all or nothing, or before they are stored. After a crash between, the
    count is too high, never too low.
    """
    shared, day = _shared(merchant_id, agent_id), limits.day_of(now)
    own = {address: of_address(address) for address in addresses}

    def count(counted: Mapping[Limit, int]) -> tuple[str, ...]:
        admitted = limits.admitted(own, shared, counted)
        numbers = Counter(own[address] for address in admitted) | dict.fromkeys(shared, len(admitted))
        if together := [*writes(admitted), *(store.additions(numbers, day) if admitted else ())]:
            with suppress(outbox_store.AlreadyStoredError):  # by an earlier try, whose answer was lost: its IDs are new
                commit(*together)
        return admitted

    nothing: Mapping[Limit, int] = {}
    return retry_with(nothing, count, lambda: store.counted([*own.values(), *shared], day))


def within_limits(  # noqa: PLR0913  each argument is needed and independent
    content: ReceiptContent,
    client_id: int,
    agent_id: int,
    now: datetime,
    country: str | None = None,
    *,
    writes: Callable[[ReceiptContent], Sequence[Write]] = lambda _: (),
) -> ReceiptContent:
    """Return the content with only the addresses that may get a receipt of this agent, and count a message to each.

    SMS go to the countries of the stage, or else to `country`, the merchant's own (alpha-2). None: an earlier receipt
    went to the same numbers. The writes of the content are stored with the count.
    """
    wanted = content.to_send
    if wanted is None:
        return content
    phones = wanted.phones
    if country is not None:
        countries = settings().sms_countries or {country}
        phones = tuple(phone for phone in phones if sms_country(phone) in countries)
    admitted = admit(
        wanted.emails + phones, client_id, agent_id, now, writes=lambda some: writes(content.limited_to(some))
    )
    if withheld := len(wanted.all) - len(admitted):
        log_withheld(RECEIPT, client_id, agent_id, withheld)
    return content.limited_to(admitted)


def store_welcomed(store_with: Callable[..., None], welcome: Outbox | None, agent_id: int) -> bool:
    """Store a new record with its welcome e-mail; beyond a limit store the record only, and return True.

    One transaction stores the record, the e-mail and its count.
    """
    if welcome is None:
        store_with()
        return False
    try:
        store_with(*_writes_of(welcome, *_shared(welcome.client_id, agent_id), limits.of_welcomes(welcome.client_id)))
    except LimitReachedError:
        store_with()
        log_withheld(WELCOME, welcome.client_id, agent_id)
        return True
    return False


def _writes_of(message: Outbox, *shared: Limit) -> list[Write]:
    """Return the writes that store and count a message. Their transaction raises LimitReachedError beyond a limit."""
    day = limits.day_of(message.created_at)
    own = {of_address(address): 1 for address in message.to}
    numbers = own | dict.fromkeys(shared, len(own))
    return [outbox_store.put(message), *store.additions(numbers, day)]


def uncount_receipt(transaction: Transaction, now: datetime) -> list[Write]:
    """Return the writes that take back the count of a receipt that is never sent, because no money moved.

    Return none after the end of the day, when the count no longer matters.
    """
    addresses, day = transaction.receipt.to_send, limits.day_of(transaction.created_at)
    if addresses is None or limits.day_of(now) != day:
        return []
    numbers = Counter(of_address(address) for address in addresses.all)
    shared = _shared(transaction.client_id, transaction.agent.id)
    return store.subtractions(numbers | dict.fromkeys(shared, numbers.total()), day)


def log_withheld(kind: str, merchant_id: int, agent_id: int, messages: int = 1) -> None:
    """Log one line about withheld messages. It names no address."""
    log("messages_withheld", kind=kind, merchant=merchant_id, agent=agent_id, messages=messages)


def of_address(address: str) -> Limit:
    """Return the limit of an e-mail or telephone number."""
    return limits.of_address(pseudonym(ADDRESS, limits.counted_address(address)))


def _shared(merchant_id: int, agent_id: int) -> list[Limit]:
    """Return the limits that all messages of an agent share."""
    return [limits.of_agent(agent_id), limits.of_merchant(merchant_id, settings().messages_per_merchant)]
