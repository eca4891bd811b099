from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.domain import outbox
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.welcome import welcome_agent, welcome_merchant
from tests.support.builders import a_merchant
from tests.support.receipts import an_entry
from tests.support.transactions import NOW


def test_a_new_entry_is_held_for_the_stream() -> None:
    entry = an_entry()

    assert outbox.held_for_stream(entry).due_at == entry.created_at + timedelta(seconds=60)


@pytest.mark.parametrize(("attempts", "minutes"), [(1, 1), (2, 4), (3, 16), (4, 64), (5, 256), (6, 360), (9, 360)])
def test_each_pause_is_four_times_the_one_before(attempts: int, minutes: int) -> None:
    assert outbox.failed(an_entry(attempts=attempts, retries=10), NOW).due_at == NOW + timedelta(minutes=minutes)


@pytest.mark.parametrize("retries", [0, 1, 10])
def test_it_is_tried_once_and_then_as_often_as_was_asked_for(retries: int) -> None:
    entry, attempts = an_entry(retries=retries, due_at=NOW), 0
    while entry.due_at:
        attempts += 1
        entry = outbox.failed(replace(entry, attempts=attempts), NOW)

    assert attempts == 1 + retries
    assert entry.given_up_at == NOW


def test_what_is_finished_is_kept_for_a_month() -> None:
    finished = [outbox.sent(an_entry(), NOW), outbox.given_up(an_entry(), NOW)]

    assert {entry.expires_at for entry in finished} == {int((NOW + timedelta(days=30)).timestamp())}
    assert {entry.due_at for entry in finished} == {None}


def test_an_entry_that_was_claimed_too_often_is_spent() -> None:
    assert not outbox.is_spent(an_entry(attempts=4, retries=3))
    assert outbox.is_spent(an_entry(attempts=5, retries=3))


def test_a_welcome_names_the_login_and_no_password() -> None:
    message = welcome_agent("1", 7, "Thandi\r\nBcc: x", "thandi@shop.example", NOW)

    assert message.to == ("thandi@shop.example",)
    assert "Hello Thandi  Bcc: x," in (message.text or "")
    assert "You sign in with thandi@shop.example" in (message.text or "")


def test_control_characters_become_blanks() -> None:
    assert one_line("a\r\nb\tc\u202ed\x00é") == "a  b c d é"


def test_the_welcome_of_a_merchant_names_it_and_goes_to_its_manager() -> None:
    merchant = a_merchant(name="Corner\r\nStore")
    message = welcome_merchant("1", merchant, NOW)

    assert message.to == (merchant.manager.email,)
    assert f"Corner  Store is now open for payments, as merchant {merchant.id}" in (message.text or "")
