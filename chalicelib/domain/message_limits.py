"""Limits on the messages of a day (UTC): nobody can flood an address through a stage, or spend the operator's money."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

PER_ADDRESS = 10  # messages of any kind that an address gets
PER_AGENT = 500  # messages that an agent causes
WELCOMES_PER_MERCHANT = 20
WEBHOOK_TESTS_PER_MERCHANT = 60
RESENT_EVENTS_PER_MERCHANT = 200
GOOGLE = ("gmail.com", "googlemail.com")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Limit:
    """The name of a daily counter, and the highest number that it reaches."""

    name: str
    most: int


def counted_address(address: str) -> str:
    """Return the address that counts: in lower case, an e-mail address without its tag (ann+1@home.example).

    Google ignores dots in the names of its mailboxes, and both of its domains have the same ones.
    """
    name, at, domain = address.lower().rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GOOGLE:
        name, domain = name.replace(".", "") or name, GOOGLE[0]
    return f"{name}{at}{domain}"


def of_address(digest: str) -> Limit:
    """Return the limit of an address, which only its keyed digest names."""
    return Limit(f"address#{digest}", PER_ADDRESS)


def of_agent(agent_id: int) -> Limit:
    """Return the limit of an agent."""
    return Limit(f"agent#{agent_id}", PER_AGENT)


def of_merchant(merchant_id: int, most: int) -> Limit:
    """Return the limit of a merchant: as many messages as the stage allows."""
    return Limit(f"merchant#{merchant_id}", most)


def of_welcomes(merchant_id: int) -> Limit:
    """Return the limit of a merchant's welcome e-mails."""
    return Limit(f"welcomes#{merchant_id}", WELCOMES_PER_MERCHANT)


def of_webhook_tests(merchant_id: int) -> Limit:
    """Return the limit of a merchant's webhook tests."""
    return Limit(f"webhook-tests#{merchant_id}", WEBHOOK_TESTS_PER_MERCHANT)


def of_resent_events(merchant_id: int) -> Limit:
    """Return the limit of a merchant's events that are sent again."""
    return Limit(f"resent-events#{merchant_id}", RESENT_EVENTS_PER_MERCHANT)


def day_of(at: datetime) -> date:
    """Return the day on which a message counts."""
    return at.astimezone(UTC).date()


def ends_at(day: date) -> datetime:
    """Return the end of a day, when its counters no longer matter."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + DAY


def admitted(addresses: Mapping[str, Limit], shared: Sequence[Limit], counted: Mapping[Limit, int]) -> tuple[str, ...]:
    """Return the addresses that may get a message: the first ones that their own and the shared limits allow.

    Addresses of one mailbox have one limit.
    """
    numbers, free = Counter(counted), []
    for address, own in addresses.items():
        if numbers[own] < own.most:
            numbers[own] += 1
            free.append(address)
    room = min((one.most - counted.get(one, 0) for one in shared), default=len(free))
    return tuple(free[: max(room, 0)])
