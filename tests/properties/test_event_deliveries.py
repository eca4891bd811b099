"""A receiver that is silent delays no other."""

import threading

import pytest

from infra.local import streams
from tests.support import deployment
from tests.support.accounts import a_stored_merchant
from tests.support.events import a_stored_event, a_stored_hook, forget
from tests.support.receivers import a_receiver


@pytest.mark.usefixtures("moto")
def test_who_does_not_answer_delays_nobody() -> None:
    forget()
    merchant = a_stored_merchant().id
    released = threading.Event()
    with a_receiver() as fine, a_receiver(lambda _: 200 if released.wait(9) else 500) as mute, streams.fed():
        for receiver in (fine, mute):
            a_stored_hook(merchant, receiver.url)
        made = [a_stored_event(merchant).id for _ in range(25)]

        deployment.until(lambda: len(fine.calls) == len(made))  # while no call of the other has an answer

        assert not released.is_set()
        assert set(fine.ids) == set(made)
        released.set()
