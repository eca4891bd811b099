"""A code is taken once, whoever else uses it between any two calls of a request."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count, takewhile

import pytest
from pyotp import TOTP

from chalicelib.domain.agent import Caller
from chalicelib.domain.second_factor import STEP_SECONDS
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.sign_in import ChangeTotp, SignIn
from chalicelib.services import second_factor, sessions
from chalicelib.services.authentication import session_digest
from tests.support.accounts import PASSWORD, a_session, an_account
from tests.support.giving import Give
from tests.support.intercepted_calls import hooked

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=STEP_SECONDS)
pytestmark = pytest.mark.usefixtures("engine", "signing")
USED = ErrorCode.SECOND_FACTOR


def answer_of(act: Callable[[], object]) -> ErrorCode | None:
    try:
        act()
    except ServiceError as refusal:
        return refusal.error
    return None


class Person:
    """An account with a second factor that is on; its first code was that of NOW."""

    def __init__(self) -> None:
        self.account = an_account()
        self.secret = self.begin()
        shown = self.change({"Code": TOTP(self.secret).at(NOW)}, NOW)
        assert shown
        self.codes = {"by time": TOTP(self.secret).at(LATER), "recovery": shown.recovery_codes[0].reveal()}

    def change(self, body: Mapping[str, object], now: datetime = LATER) -> second_factor.Shown | None:
        agent = self.account.agent
        session = session_digest(Secret(a_session(self.account, now)))
        caller = Caller(agent.id, agent.client_id, 1, session=session)
        return second_factor.change(ChangeTotp.model_validate(body), caller, "", now)

    def begin(self) -> str:
        begun = self.change({}, NOW)
        assert begun
        assert begun.secret
        return begun.secret.reveal()

    def sign_in(self, code: str) -> None:
        body = {"Email": self.account.email, "Password": PASSWORD, "Code": code}
        sessions.sign_in(SignIn.model_validate(body), LATER)


ACTS: dict[str, Callable[[Person, str], object]] = {
    "sign in": lambda person, code: person.sign_in(code),
    "switch off": lambda person, code: person.change({"Off": True, "Code": code}),
}


def _answers(number: int, first: str, second: str, code: str) -> set[ErrorCode | None] | None:
    """Return the answers of two acts with one code, the second before this call of the first; None without the call."""
    person, calls, answers = Person(), count(1), []

    def interrupt(when: str, _: str) -> None:
        if when == "before" and next(calls) == number:
            answers.append(answer_of(lambda: ACTS[second](person, person.codes[code])))

    with hooked(interrupt):
        own = answer_of(lambda: ACTS[first](person, person.codes[code]))
    return {own, *answers} if answers else None


@pytest.mark.parametrize("code", ["by time", "recovery"])
@pytest.mark.parametrize(
    ("first", "second"), [("sign in", "sign in"), ("sign in", "switch off"), ("switch off", "sign in")]
)
def test_of_two_acts_with_one_code_one_is_done(first: str, second: str, code: str) -> None:
    begin = 2 if second == "switch off" else 1  # a sign-in that has read nothing yet needs no code after it
    found = list(takewhile(bool, (_answers(number, first, second, code) for number in count(begin))))

    assert len(found) >= 3
    assert [one for one in found if one not in ({None, USED}, {None, ErrorCode.VALIDATION_FAILED})] == []


def test_a_factor_that_is_confirmed_twice_at_once_shows_its_codes_once(give: Give) -> None:
    give(now=lambda: NOW)
    person = Person()
    body = {"Code": TOTP(person.begin()).at(LATER)}
    shown: list[ErrorCode | None] = []

    def interrupt(when: str, operation: str) -> None:
        if (when, operation) == ("before", "TransactWriteItems") and not shown:
            shown.append(None)
            shown[0] = answer_of(lambda: person.change(body))

    with hooked(interrupt):
        own = answer_of(lambda: person.change(body))

    assert {own, *shown} == {None, USED}
