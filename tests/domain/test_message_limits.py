from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.message_limits import PER_ADDRESS, Limit, admitted, day_of, ends_at, of_address, of_agent
from chalicelib.domain.transaction import ReceiptAddresses, ReceiptContent
from chalicelib.phone_numbers import sms_country

COUNTS = st.integers(min_value=0, max_value=12)


@given(own=st.lists(COUNTS, max_size=5), agent=st.integers(min_value=490, max_value=505))
def test_no_limit_is_exceeded_and_no_message_is_withheld_without_a_reason(own: list[int], agent: int) -> None:
    addresses = {f"{number}@home.example": of_address(str(number)) for number in range(len(own))}
    counted = dict(zip(addresses.values(), own, strict=True)) | {of_agent(7): agent}

    allowed = admitted(addresses, [of_agent(7)], counted)

    assert all(counted[addresses[one]] < PER_ADDRESS for one in allowed)
    assert len(allowed) <= max(of_agent(7).most - agent, 0)
    withheld = [one for one in addresses if one not in allowed]
    is_agent_full = agent + len(allowed) >= of_agent(7).most
    assert all(counted[addresses[one]] >= PER_ADDRESS or is_agent_full for one in withheld)


def test_without_a_shared_limit_only_the_addresses_limit() -> None:
    assert admitted({"a": Limit("a", 1), "b": Limit("b", 1)}, [], {Limit("a", 1): 1}) == ("b",)


def test_a_day_is_a_day_in_utc() -> None:
    late = datetime(2026, 3, 15, 1, 30, tzinfo=timezone(timedelta(hours=2)))

    assert day_of(late).isoformat() == "2026-03-14"
    assert ends_at(day_of(late)) == datetime(2026, 3, 15, tzinfo=UTC)


def test_withheld_addresses_leave_the_receipt_and_their_paths_stay() -> None:
    paths = ("Receipt.Email", "Receipt.Emails[2]", "Receipt.Phones[1]")
    addresses = ReceiptAddresses(("a@home.example", "b@home.example"), ("+27829876543",), 5, paths)
    before = ReceiptContent(addresses=addresses)

    after = before.limited_to({"b@home.example"})
    last = after.limited_to(set())

    assert after.addresses == ReceiptAddresses(("b@home.example",), (), 5, paths[1:2])
    assert after.withheld == ("Receipt.Email", "Receipt.Phones[1]")
    assert last.addresses is None
    assert last.withheld == ("Receipt.Email", "Receipt.Phones[1]", "Receipt.Emails[2]")
    assert before.limited_to(set(addresses.all)) == before


@pytest.mark.parametrize(
    ("number", "country"),
    [
        ("+27829876543", "ZA"),
        ("+447700900123", "GB"),
        ("+12025550123", "US"),
        ("+14165550123", "CA"),
        ("+18765550123", "JM"),
        ("+447911123456", "GG"),
        ("+870773111632", None),  # satellite telephones
        ("+881612345678", None),
        ("+883510012345678", None),  # a network of several countries
        ("+27900123456", None),  # premium numbers
        ("+19002345678", None),
    ],
)
def test_the_country_of_a_number_decides_about_its_sms(number: str, country: str | None) -> None:
    assert sms_country(number) == country
