"""What a delivery costs, as DynamoDB Local counts it."""

from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.services import deliveries
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store import due_records, events
from chalicelib.store.table import encode
from tests.support.accounts import a_stored_merchant
from tests.support.cost import write_units
from tests.support.events import a_stored_event, a_stored_hook
from tests.support.receivers import a_receiver


@pytest.mark.usefixtures("dynamodb_local")
@pytest.mark.parametrize(("status", "expected"), [(200, [2, 2, 2]), (500, [2, 2, 3])])
def test_a_first_attempt_costs_its_delivery_the_end_of_the_beginning_and_its_result(
    status: int, expected: list[int]
) -> None:
    """Each is a write of an item and of its entry in the index. A later due time is a new entry."""
    merchant = a_stored_merchant().id
    with a_receiver(lambda _: status) as receiver:
        a_stored_hook(merchant, receiver.url, failing_since=datetime.now(UTC))
        event = a_stored_event(merchant)
        with write_units() as charged:
            deliveries.deliver([("1", encode(event))])

    assert [units for table, units in charged if table == "events"] == expected


@pytest.mark.usefixtures("dynamodb_local")
def test_a_claim_moves_what_is_due_in_the_index() -> None:
    merchant = a_stored_merchant().id
    with a_receiver(lambda _: 500) as receiver:
        hook = a_stored_hook(merchant, receiver.url)
        event = a_stored_event(merchant)
        deliveries.deliver([("1", encode(event))])
        later = datetime.now(UTC) + timedelta(minutes=1)
        queue = f"{merchant}#{hook.id}"
        [due] = due_records.of_lane(events.TABLE, queue, later)
        with write_units() as charged:
            deliveries_store.claim(due.key["day"], due.key["place"], later)

    assert [units for table, units in charged if table == "events"] == [3]
