from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from chalicelib.authorizer import verified_now
from chalicelib.domain.agent import NO_CLIENT, Caller, MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.account_configuration import AccountAnswer, AuthAccount
from chalicelib.services import account_configuration
from chalicelib.services.caller_check import admit
from chalicelib.settings import settings
from chalicelib.store import agents, merchants
from tests.support.accounts import Account, a_stored_merchant, an_account, block
from tests.support.cost import store_calls
from tests.support.giving import Give, environment

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NOBODY = 999_999_999

pytestmark = pytest.mark.usefixtures("engine")


def _caller(account: Account) -> Caller:
    return Caller(account.agent.id, account.agent.client_id, account.agent.credential_version)


def _refusal(caller: Caller, **arguments: Any) -> ErrorCode | None:
    try:
        admit(caller, **arguments)
    except ServiceError as refusal:
        return refusal.error
    return None


def test_the_caller_its_merchant_and_what_else_is_asked_for_are_one_read() -> None:
    account, other = an_account(), a_stored_merchant()

    with store_calls() as calls:
        admitted = admit(
            _caller(account),
            merchants.key(other.id),
            agents.key(NOBODY),
            merchants.key(account.agent.client_id),
        )

    assert calls == ["BatchGetItem"]
    assert admitted.agent == account.agent
    assert admitted.merchant is not None
    assert admitted.merchant.id == account.agent.client_id
    assert [record for _, record in admitted.found] == [other, None, admitted.merchant]


def test_a_system_user_has_no_merchant() -> None:
    account, other = an_account(system=True), a_stored_merchant()
    admitted = admit(_caller(account), merchants.key(other.id))

    assert (account.agent.client_id, admitted.merchant) == (NO_CLIENT, None)
    assert [record for _, record in admitted.found] == [other]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"state": 0}, ErrorCode.AGENT_BLOCKED),
        ({"deleted": True}, ErrorCode.BAD_CREDENTIAL),
        ({"credential_version": 2}, ErrorCode.BAD_CREDENTIAL),
        ({"state": 0, "credential_version": 2}, ErrorCode.AGENT_BLOCKED),
        ({"name": "Other"}, None),
    ],
)
def test_what_was_revoked_after_the_authorizer_is_refused(change: dict[str, Any], error: ErrorCode | None) -> None:
    account = an_account()
    caller = _caller(account)
    account.change(**change)

    assert _refusal(caller) is error


@pytest.mark.usefixtures("signing")
def test_after_a_change_of_credentials_the_login_must_still_be_the_callers() -> None:
    account, other = an_account(), an_account()
    outdated = replace(_caller(account), credential_version=0)

    assert _refusal(replace(outdated, verify_again=partial(verified_now, account.basic))) is None
    assert _refusal(replace(outdated, verify_again=partial(verified_now, other.basic))) is ErrorCode.BAD_CREDENTIAL


def test_an_agent_that_is_gone_is_refused() -> None:
    account = an_account()

    assert _refusal(Caller(NOBODY, account.agent.client_id, 1)) is ErrorCode.BAD_CREDENTIAL


def test_the_agents_of_a_blocked_merchant_are_refused() -> None:
    merchant = a_stored_merchant()
    caller = _caller(an_account(merchant=merchant))
    before = _refusal(caller)
    block(merchant)

    assert before is None
    assert _refusal(caller) is ErrorCode.MERCHANT_BLOCKED


def test_current_account_id_is_the_caller_or_absent() -> None:
    caller = _caller(an_account())

    assert _refusal(caller, current_account_id=None) is None
    assert _refusal(caller, current_account_id=caller.agent_id) is None
    assert _refusal(caller, current_account_id=caller.agent_id + 1) is ErrorCode.NOT_THE_CALLER
    assert _refusal(caller, current_account_id=0) is ErrorCode.NOT_THE_CALLER


def _ask(account: Account, now: datetime = NOW, **body: Any) -> AccountAnswer:
    asked = AuthAccount.model_validate(body)
    found = account_configuration.get(_caller(account), now, current_account_id=asked.current_account_id)
    return AccountAnswer.of(found)


def test_what_an_agent_says_of_itself_goes_before_its_merchant() -> None:
    answer = _ask(an_account(country_id="NA", language_id="af", currency_id="NAD"))

    assert (answer.country_id, answer.language_id, answer.currency_id) == ("NA", "af", "NAD")


def test_the_options_are_what_agent_and_merchant_enable() -> None:
    merchant = a_stored_merchant(mobile_settings=MobileSettings(features=Features(accept_prepaid=True)))
    own = MobileSettings(features=Features(accept_cash=False, accept_credit=True))
    answer = _ask(an_account(merchant=merchant, mobile_settings=own))

    codes = {option.id: option.acquirer_code for option in answer.payment_options}
    assert {number: codes.get(number) for number in (8, 9, 10)} == {8: "PREPAID", 9: "CREDIT", 10: None}


def test_a_stage_without_a_card_acquirer_offers_the_other_kinds(give: Give) -> None:
    give(settings=replace(settings(), acquirers=()))
    answer = _ask(an_account())

    assert [option.acquirer_code for option in answer.payment_options] == ["CASH"]


def test_an_account_asks_once_in_ten_minutes() -> None:
    account = an_account()
    _ask(account)

    with pytest.raises(ServiceError) as refusal:
        _ask(account, NOW + timedelta(seconds=1.5))

    assert refusal.value.error is ErrorCode.TOO_SOON
    assert refusal.value.retry_after == 599
    assert _ask(account, NOW + timedelta(minutes=10)).id == account.agent.id


def test_a_call_that_is_refused_does_not_count() -> None:
    account = an_account()
    with pytest.raises(ServiceError):
        _ask(account, CurrentAccountID=account.agent.id + 1)

    assert _ask(account, CurrentAccountID=account.agent.id).id == account.agent.id


def test_a_stage_may_let_everybody_ask_whenever_they_like() -> None:
    account = an_account()

    with environment(AUTH_ACCOUNT_SECONDS="0"):
        answers = [_ask(account) for _ in range(3)]

    assert len(answers) == 3
