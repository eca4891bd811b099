"""The second factor over HTTP: begun, confirmed, asked for at sign-in, and switched off."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from pyotp import TOTP

from chalicelib.domain.agent import NO_CLIENT, Caller
from chalicelib.domain.password_lock import LOCK_AFTER, LOCK_FOR
from chalicelib.domain.permissions import Right
from chalicelib.domain.second_factor import RECOVERY_CODES, STEP_SECONDS
from chalicelib.services.caller_check import admit
from chalicelib.store import audit, merchants
from tests.support.accounts import PASSWORD, Account, accept_test_tokens, an_account, basic
from tests.support.giving import Give, environment
from tests.support.http import Reply, call
from tests.support.stored import stored_record

TOTP_PATH, SIGN_IN, ME = "/api/v1/user/totp", "/api/v1/user/login/session", "/api/v1/user/me"
SIGN_OUT = "/api/v1/user/logout/session"
REVERSALS = "/api/v1/payment/reverse", "/api/v1/payment/reversecnp"
OK, NEEDED, LOCKED, INVALID = (200, 0), (401, 109), (401, 104), (400, 202)
STEP = timedelta(seconds=STEP_SECONDS)


@dataclass
class Person:
    """An account with a session, at a clock that the test sets. `secret` is that of its second factor."""

    stage: str
    account: Account
    clock: list[datetime]
    session: str = ""
    secret: str = ""
    recovery_codes: list[str] = field(default_factory=list)

    def code(self, steps: int = 0) -> str:
        """Return the code of so many steps from now."""
        return TOTP(self.secret).at(int((self.clock[0] + steps * STEP).timestamp()))

    def wait(self, steps: int = 1) -> None:
        self.clock[0] += steps * STEP

    def post(self, path: str, body: Any, authorization: str | None = None) -> Reply:
        header = authorization or f"Session {self.session}"
        return call(self.stage, "POST", path, body, None, {"Authorization": header})

    def totp(self, body: Any, authorization: str | None = None) -> Reply:
        return self.post(TOTP_PATH, body, authorization)

    def sign_in(self, code: str | None = None, password: str = PASSWORD) -> Reply:
        body = {"Email": self.account.email, "Password": password}
        return call(self.stage, "POST", SIGN_IN, body | ({} if code is None else {"Code": code}), None)

    def begin(self) -> str:
        """Begin a second factor, and return its secret."""
        secret: str = self.totp({}).body["Data"]["Secret"]
        return secret

    def switch_on(self) -> None:
        self.secret = self.begin()
        self.recovery_codes = self.totp({"Code": self.code()}).body["Data"]["RecoveryCodes"]
        self.wait()

    def me(self, authorization: str | None = None) -> Reply:
        header = authorization or f"Session {self.session}"
        return call(self.stage, "GET", ME, None, None, {"Authorization": header})

    @property
    def is_on(self) -> bool:
        on: bool = self.me().body["Data"]["TotpOn"]
        return on


Make = Callable[..., Person]


@pytest.fixture
def person(stage: str, give: Give) -> Make:
    """Make a person that is signed in."""
    clock = [datetime.now(UTC).replace(microsecond=0)]
    give(now=lambda: clock[0])

    def make(account: Account | None = None) -> Person:
        made = Person(stage, account or an_account(Right.ADMINISTRATOR), clock)
        made.session = made.sign_in().body["Data"]["SessionID"]
        return made

    return make


def a_colleague(of: Person) -> Account:
    """Store another agent of a person's merchant."""
    return an_account(merchant=stored_record(merchants.key(of.account.agent.client_id)))


def test_a_factor_is_on_after_its_first_code(person: Make) -> None:
    ann = person()
    begun = ann.totp({}).body["Data"]
    address = urlsplit(begun["Uri"])

    assert (address.scheme, address.netloc) == ("otpauth", "totp")
    assert unquote(address.path).endswith(f":{ann.account.email}")
    assert parse_qs(address.query)["secret"] == [begun["Secret"]]
    assert ann.sign_in().error == OK, "it waits for its first code"
    assert not ann.is_on

    ann.secret = begun["Secret"]
    confirmed = ann.totp({"Code": ann.code()})
    codes = confirmed.body["Data"]["RecoveryCodes"]

    assert confirmed.error == OK
    assert len(set(codes)) == RECOVERY_CODES
    assert all(len(code) >= 8 and code.isalnum() for code in codes)
    assert ann.is_on, "sessions stay as they are"
    assert ann.sign_in().error == NEEDED
    assert ann.sign_in(ann.code()).error == NEEDED, "its first code was used"
    ann.wait()
    assert ann.sign_in(ann.code()).error == OK
    changes = audit.of(f"agent#{ann.account.agent.id}")
    assert {"second_factor", "totp_on"} <= {name for one in changes for name in one.fields}


def test_a_password_is_no_credential_where_a_factor_is_on(person: Make) -> None:
    accept_test_tokens()
    ann = person()
    account = ann.account
    passwords = (account.basic, account.jwt(PASSWORD))
    assert [ann.me(one).error for one in passwords] == [OK] * 2  # and API Gateway remembers both
    ann.switch_on()

    assert [ann.me(one).error for one in passwords] == [NEEDED] * 2
    assert [ann.me(one).error for one in (account.basic_with_key, account.jwt())] == [OK] * 2
    assert ann.me(basic(account.email, ann.session)).error == OK


def test_the_clock_of_an_app_may_be_one_step_off_and_each_later_code_is_taken_once(person: Make) -> None:
    ann = person()
    ann.switch_on()
    ann.wait(3)

    assert [ann.sign_in(ann.code(steps)).error for steps in (-2, -1, -1, 1, 0, 2)] == [
        NEEDED,
        OK,
        NEEDED,
        OK,
        *[NEEDED] * 2,
    ]


def test_codes_are_read_as_people_write_them_and_each_recovery_code_is_taken_once(person: Make) -> None:
    ann = person()
    ann.switch_on()
    first, second, *_ = ann.recovery_codes
    code = ann.code()

    assert ann.sign_in(f" {code[:3]} {code[3:]} ").error == OK
    assert ann.sign_in(f"{first[:5].lower()}-{first[5:]}").error == OK
    assert [ann.sign_in(one).error for one in (first, second, second)] == [NEEDED, OK, NEEDED]
    assert ann.sign_in(code).error == NEEDED


def test_wrong_codes_count_as_wrong_passwords_and_a_password_alone_resets_nothing(person: Make) -> None:
    ann = person()
    ann.switch_on()
    refused = [ann.sign_in("000000").error for _ in range(LOCK_AFTER - 2)]
    refused += [ann.sign_in().error, ann.totp({"Off": True, "Code": "000000"}).error, ann.sign_in().error]

    assert set(refused) == {NEEDED}
    assert ann.sign_in(password=PASSWORD[1:]).error == (401, 102)
    assert [ann.sign_in().error, ann.sign_in(ann.code()).error] == [LOCKED] * 2
    assert ann.totp({"Off": True, "Code": ann.code()}).error == LOCKED
    ann.wait(LOCK_FOR // STEP)
    ann.session = ann.sign_in(ann.code()).body["Data"]["SessionID"]
    assert ann.account.login.failed_attempts == 0


def test_another_factor_is_begun_while_one_is_on(person: Make) -> None:
    ann = person()
    ann.switch_on()
    other, before = ann.begin(), ann.secret

    assert ann.sign_in(ann.code()).error == OK, "the one that is on stays"
    ann.secret = other
    assert ann.sign_in(ann.code()).error == NEEDED
    assert ann.totp({"Code": ann.code()}).error == OK
    ann.wait()
    assert ann.sign_in(ann.recovery_codes[0]).error == NEEDED, "the recovery codes are others"
    assert ann.sign_in(TOTP(before).at(int(ann.clock[0].timestamp()))).error == NEEDED
    assert ann.sign_in(ann.code()).error == OK


@pytest.mark.parametrize("code", ["by time", "recovery"])
def test_it_is_switched_off_by_a_code(person: Make, code: str) -> None:
    ann = person()
    ann.switch_on()
    right = ann.code() if code == "by time" else ann.recovery_codes[0]

    assert ann.totp({"Off": True}).error == INVALID
    assert ann.totp({"Off": True, "Code": "000000"}).error == NEEDED
    assert ann.is_on
    assert ann.totp({"Off": True, "Code": right}).error == OK
    assert not ann.is_on
    assert ann.sign_in().error == OK
    login = ann.account.login
    assert (login.totp_sealed, login.totp_begun, login.recovery_codes, login.used_codes) == (None, None, set(), set())


def test_a_request_that_can_have_no_effect_is_refused(person: Make) -> None:
    ann = person()

    refused: list[tuple[dict[str, Any], str, int]] = [
        ({"Code": "123456"}, "Code", 12),
        ({"Off": True, "Code": "123456"}, "Off", 12),
        ({"Code": ""}, "Code", 5),
        ({"Off": False}, "Off", 5),
        *(({name: True}, name, 13) for name in ("Of", "of", "Offf", "Cod", "Cide", "off")),
    ]
    replies = [ann.totp(body) for body, _, _ in refused]
    assert [(one.error, one.findings) for one in replies] == [(INVALID, [(name, code)]) for _, name, code in refused]
    assert ann.account.login.totp_begun is None
    sue = a_colleague(ann).agent
    update = ann.post(f"/api/v1/merchant/{sue.client_id}/pos/{sue.id}/update", {"TotpOf": True})
    assert (update.error, update.findings) == (INVALID, [("TotpOf", 13)])
    ann.switch_on()
    assert ann.totp({"Code": ann.code()}).error == NEEDED, "none was begun"


def test_only_a_session_changes_it(person: Make) -> None:
    accept_test_tokens()
    ann = person()
    account = ann.account
    secret = ann.begin()

    for authorization in (account.basic, account.basic_with_key, account.jwt()):
        for body in ({}, {"Code": TOTP(secret).at(int(ann.clock[0].timestamp()))}, {"Off": True, "Code": "000000"}):
            reply = ann.totp(body, authorization)
            assert (reply.error, reply.findings) == (INVALID, [("Authorization", 12)])
    assert account.login.failed_attempts == 0
    assert not ann.is_on


def test_an_administrator_switches_off_that_of_others(person: Make) -> None:
    ann = person()
    sue = person(a_colleague(ann))
    sue.switch_on()
    path = f"/api/v1/merchant/{ann.account.agent.client_id}/pos"

    def update(of: Person, by: Person) -> Reply:
        return by.post(f"{path}/{of.account.agent.id}/update", {"TotpOff": True})

    assert ann.me(f"Session {sue.session}").body["Data"]["TotpOn"] is True
    assert update(sue, sue).error == (403, 151)
    ann.switch_on()
    assert (update(ann, ann).error, ann.is_on) == ((403, 151), True)
    off = update(sue, ann)
    assert (off.error, off.body["Pos"]["TotpOn"]) == (OK, False)
    assert (sue.sign_in().error, sue.account.login.totp_sealed) == (OK, None)


def test_it_follows_its_agent_to_another_e_mail(person: Make) -> None:
    ann = person()
    sue = person(a_colleague(ann))
    sue.switch_on()
    code = sue.code()
    assert sue.sign_in(code).error == OK
    path = f"/api/v1/merchant/{ann.account.agent.client_id}/pos/{sue.account.agent.id}/update"
    email = f"other-{sue.account.email}"

    assert ann.post(path, {"Email": email}).error == OK
    body = {"Email": email, "Password": PASSWORD}
    answers = [call(sue.stage, "POST", SIGN_IN, body | more, None).error for more in ({}, {"Code": code})]
    assert answers == [NEEDED] * 2, "a code stays used"


def test_a_stage_may_require_it_of_system_users(person: Make) -> None:
    tina = person(an_account(system=True))
    merchants = "/api/v1/merchant/list"
    with environment(SYSTEM_USERS_NEED_TOTP="true"):
        assert [tina.me(one).error for one in (tina.account.basic_with_key, tina.account.basic)] == [NEEDED] * 2
        assert (tina.post(merchants, {}).error, tina.me().error) == (NEEDED, OK)
        bodies = [{}, {"BasicReverseTran": {}}, {"BasicReverseTran": {"TransactionID": "x", "ReverseMode": 4}}]
        refused = [tina.post(path, body).error for path in REVERSALS for body in bodies]
        assert refused == [NEEDED] * 6, "the caller is judged before its request"
        assert tina.sign_in().error == OK
        assert admit(Caller(tina.account.agent.id, NO_CLIENT, 1)), "the operator's commands need none"
        tina.switch_on()
        assert tina.post(merchants, {}).error == OK
        assert tina.me(tina.account.basic_with_key).error == OK
        assert person().me().error == OK, "others need none"
        assert tina.totp({"Off": True, "Code": tina.code()}).error == OK
        assert tina.post(merchants, {}).error == NEEDED
        assert tina.post(SIGN_OUT, {}).error == OK
