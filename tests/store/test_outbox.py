from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.domain.outbox import Outbox, born, failed, sent
from chalicelib.store import due_index, outbox
from chalicelib.store.table import AlreadyExistsError, commit, read
from tests.receipts import a_moment, an_entry, when_due

SECOND = timedelta(seconds=1)


def kept(entry: Outbox) -> Outbox:
    commit(outbox.put(entry))
    return entry


def held(entry: Outbox) -> Outbox:
    """The entry, kept and in the hands of whoever wrote it."""
    return replace(born(kept(entry)), attempts=1)


@pytest.mark.usefixtures("engine")
def test_a_new_entry_is_due_when_its_writer_has_had_its_time() -> None:
    entry = kept(an_entry())

    assert due_index.ids(outbox.TABLE, when_due(entry) - SECOND, 100) == []
    assert due_index.ids(outbox.TABLE, when_due(entry), 100) == [entry.id]


@pytest.mark.usefixtures("engine")
def test_an_entry_is_written_once() -> None:
    entry = kept(an_entry())

    with pytest.raises(AlreadyExistsError):
        commit(outbox.put(entry))


@pytest.mark.usefixtures("engine")
def test_a_welcome_reads_back_whole() -> None:
    entry = kept(an_entry(html="<p>Hello", sender="Shop"))

    assert read(outbox.key(entry.id)) == born(entry)


@pytest.mark.usefixtures("engine")
def test_a_receipt_is_kept_without_its_words() -> None:
    entry = kept(an_entry(transaction_id="T", terminal_id=3, html="<p>R 5", text="R 5", subject="R 5", sender="Shop"))

    assert read(outbox.key(entry.id)) == born(replace(entry, html=None, text=None, subject=None, sender=None))


@pytest.mark.usefixtures("engine")
def test_a_claim_counts_an_attempt_and_hides_the_entry() -> None:
    entry = kept(an_entry())
    now = when_due(entry)
    claimed = outbox.claim(entry.id, now)

    assert claimed == replace(born(entry), attempts=1, due_at=now + timedelta(seconds=60))
    assert due_index.ids(outbox.TABLE, now, 100) == []


@pytest.mark.usefixtures("engine")
def test_what_is_claimed_is_claimed_by_nobody_else() -> None:
    entry = kept(an_entry())
    outbox.claim(entry.id, when_due(entry))

    assert outbox.claim(entry.id, when_due(entry) + SECOND) is None


@pytest.mark.usefixtures("engine")
def test_what_its_writer_still_holds_is_claimed_by_nobody() -> None:
    entry = kept(an_entry())

    assert outbox.claim(entry.id, when_due(entry) - SECOND) is None


@pytest.mark.usefixtures("engine")
def test_a_claim_whose_holder_died_is_due_again() -> None:
    entry = kept(an_entry())
    outbox.claim(entry.id, when_due(entry))
    later = when_due(entry) + timedelta(seconds=60)

    assert due_index.ids(outbox.TABLE, later, 100) == [entry.id]
    assert (outbox.claim(entry.id, later) or entry).attempts == 2


@pytest.mark.usefixtures("engine")
def test_what_was_sent_is_due_no_more_and_can_be_looked_up() -> None:
    entry = held(an_entry())
    now = entry.created_at + SECOND
    outbox.store_attempt(entry, sent(entry, now))

    assert due_index.ids(outbox.TABLE, now + timedelta(days=1), 100) == []
    assert read(outbox.key(entry.id)) == sent(entry, now)
    assert outbox.claim(entry.id, now + timedelta(days=1)) is None


@pytest.mark.usefixtures("engine")
def test_what_failed_is_due_after_its_pause_for_those_who_have_not_got_it() -> None:
    entry = held(an_entry(to=("a@shop.example", "b@shop.example")))
    after = failed(replace(entry, to=("b@shop.example",)), entry.created_at)
    outbox.store_attempt(entry, after)
    again = outbox.claim(entry.id, entry.created_at + timedelta(minutes=1))

    assert again is not None
    assert (again.to, again.attempts) == (("b@shop.example",), 2)


@pytest.mark.usefixtures("engine")
def test_who_lost_the_hold_changes_nothing() -> None:
    entry = held(an_entry())
    claimed = outbox.claim(entry.id, when_due(entry))
    outbox.store_attempt(entry, sent(entry, when_due(entry)))

    assert read(outbox.key(entry.id)) == claimed


@pytest.mark.usefixtures("engine")
def test_the_longest_due_come_first_and_no_more_than_asked_for() -> None:
    moment = a_moment()
    entries = [kept(an_entry(created_at=moment + n * SECOND)) for n in (3, 0, 4, 1, 2)]
    in_order = [entries[n].id for n in (1, 3, 4, 0, 2)]

    assert due_index.ids(outbox.TABLE, moment + timedelta(minutes=2), 3) == in_order[:3]
    assert due_index.ids(outbox.TABLE, moment + timedelta(minutes=2), 100) == in_order
    for entry in entries:
        outbox.store_attempt(born(entry), sent(entry, moment))


@pytest.mark.usefixtures("dynamodb_local")
def test_of_many_sweeps_at_once_one_gets_an_entry() -> None:
    entries = [kept(an_entry()) for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda entry: outbox.claim(entry.id, when_due(entry)), entries * 8))

    won = sorted(claim.id for claim in claims if claim)
    assert won == sorted(entry.id for entry in entries)
