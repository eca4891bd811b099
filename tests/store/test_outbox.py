from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.domain.outbox import Outbox, failed, held_for_stream, sent
from chalicelib.store import outbox
from chalicelib.store.table import commit, read, read_item
from tests.support.giving import Give
from tests.support.outages import lose_an_answer
from tests.support.receipts import a_moment, an_entry, due_ids, when_due

SECOND = timedelta(seconds=1)


def stored(entry: Outbox) -> Outbox:
    commit(outbox.put(entry))
    return entry


def held(entry: Outbox) -> Outbox:
    """Store an entry; return it as the process that wrote it holds it."""
    return replace(held_for_stream(stored(entry)), attempts=1)


@pytest.mark.usefixtures("engine")
def test_a_new_entry_is_due_when_the_time_of_its_writer_is_over() -> None:
    entry = stored(an_entry())

    assert due_ids(when_due(entry) - SECOND) == []
    assert due_ids(when_due(entry)) == [entry.id]


@pytest.mark.usefixtures("engine")
def test_an_entry_is_written_once() -> None:
    entry = stored(an_entry())

    with pytest.raises(outbox.AlreadyStoredError):
        commit(outbox.put(entry))


@pytest.mark.usefixtures("engine")
def test_a_welcome_reads_back_whole() -> None:
    entry = stored(an_entry(html="<p>Hello", sender="Shop"))

    assert read(outbox.key(entry.id)) == held_for_stream(entry)


@pytest.mark.usefixtures("engine")
def test_a_new_entry_is_claimed_once_and_stays_held_as_long() -> None:
    entry = held_for_stream(stored(an_entry()))
    assert [outbox.claim_new(entry) for _ in range(2)] == [replace(entry, attempts=1), None]
    assert due_ids(when_due(entry) - SECOND) == []
    assert due_ids(when_due(entry)) == [entry.id]


@pytest.mark.usefixtures("engine")
def test_a_claim_that_is_repeated_after_a_lost_answer_is_one_claim_and_one_attempt(give: Give) -> None:
    new, due = (held_for_stream(stored(an_entry(retries=0))) for _ in range(2))
    now = when_due(due)
    claims: Any = [
        (lambda: outbox.claim_new(new), replace(new, attempts=1)),
        (lambda: outbox.claim(due.id, now), replace(due, attempts=1, due_at=now + timedelta(minutes=1))),
    ]
    for claim, claimed in claims:
        calls = lose_an_answer(give, "UpdateItem", outbox.TABLE)

        assert claim() == claimed
        assert claim() is None
        assert len(calls) == 3  # a repeat, and the claim of another process


@pytest.mark.usefixtures("engine")
def test_a_claim_whose_answer_was_lost_brings_the_record_as_it_was_claimed(
    give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = held_for_stream(stored(an_entry()))
    now = when_due(entry)
    lose_an_answer(give, "UpdateItem", outbox.TABLE)

    def then_another_finishes_it(key: Any) -> Any:
        item = read_item(key)
        later = outbox.claim(entry.id, now + timedelta(minutes=2))
        if later:
            outbox.store_attempt(later, sent(later, now))
        return item

    monkeypatch.setattr("chalicelib.store.due_index.read_item", then_another_finishes_it)
    claimed = outbox.claim(entry.id, now)

    assert claimed == replace(entry, attempts=1, due_at=now + timedelta(minutes=1))
    outbox.store_attempt(claimed, sent(claimed, now + timedelta(minutes=5)))
    assert (read(outbox.key(entry.id)) or entry).attempts == 2  # the other's


@pytest.mark.usefixtures("engine")
def test_a_claim_counts_an_attempt_and_hides_the_entry() -> None:
    entry = stored(an_entry())
    now = when_due(entry)
    claimed = outbox.claim(entry.id, now)

    assert claimed == replace(held_for_stream(entry), attempts=1, due_at=now + timedelta(seconds=60))
    assert due_ids(now) == []


@pytest.mark.usefixtures("engine")
def test_a_claimed_entry_cannot_be_claimed_again() -> None:
    entry = stored(an_entry())
    outbox.claim(entry.id, when_due(entry))

    assert outbox.claim(entry.id, when_due(entry) + SECOND) is None


@pytest.mark.usefixtures("engine")
def test_an_entry_its_writer_still_holds_cannot_be_claimed() -> None:
    entry = stored(an_entry())

    assert outbox.claim(entry.id, when_due(entry) - SECOND) is None


@pytest.mark.usefixtures("engine")
def test_an_entry_whose_holder_died_is_due_again() -> None:
    entry = stored(an_entry())
    outbox.claim(entry.id, when_due(entry))
    later = when_due(entry) + timedelta(seconds=60)

    assert due_ids(later) == [entry.id]
    assert (outbox.claim(entry.id, later) or entry).attempts == 2


@pytest.mark.usefixtures("engine")
def test_a_sent_entry_is_no_longer_due_and_can_be_looked_up() -> None:
    entry = held(an_entry())
    now = entry.created_at + SECOND
    outbox.store_attempt(entry, sent(entry, now))

    assert due_ids(now + timedelta(days=1)) == []
    assert read(outbox.key(entry.id)) == sent(entry, now)
    assert outbox.claim(entry.id, now + timedelta(days=1)) is None


@pytest.mark.usefixtures("engine")
def test_a_failed_entry_is_due_after_its_pause_for_the_remaining_addresses() -> None:
    entry = held(an_entry(to=("a@shop.example", "b@shop.example")))
    after = failed(replace(entry, to=("b@shop.example",)), entry.created_at)
    outbox.store_attempt(entry, after)
    again = outbox.claim(entry.id, entry.created_at + timedelta(minutes=1))

    assert again is not None
    assert (again.to, again.attempts) == (("b@shop.example",), 2)


@pytest.mark.usefixtures("engine")
def test_a_process_that_lost_its_claim_changes_nothing() -> None:
    entry = held(an_entry())
    claimed = outbox.claim(entry.id, when_due(entry))
    outbox.store_attempt(entry, sent(entry, when_due(entry)))

    assert read(outbox.key(entry.id)) == claimed


@pytest.mark.usefixtures("engine")
def test_the_longest_due_come_first() -> None:
    moment = a_moment()
    entries = [stored(an_entry(created_at=moment + n * SECOND)) for n in (3, 0, 4, 1, 2)]
    in_order = [entries[n].id for n in (1, 3, 4, 0, 2)]

    assert due_ids(moment + timedelta(minutes=2)) == in_order
    for entry in entries:
        outbox.store_attempt(held_for_stream(entry), sent(entry, moment))


@pytest.mark.usefixtures("dynamodb_local")
def test_of_many_sweeps_at_once_one_gets_an_entry() -> None:
    entries = [stored(an_entry()) for _ in range(10)]
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda entry: outbox.claim(entry.id, when_due(entry)), entries * 8))

    assert sorted(claim.id for claim in claims if claim) == sorted(entry.id for entry in entries)
