"""AuthAccount: the payment-processing configuration of the account that requests it."""

import math
from datetime import datetime, timedelta

from chalicelib.domain.agent import NO_CLIENT, Agent, Caller
from chalicelib.domain.effective_settings import Account, AccountConfiguration, payment_options
from chalicelib.domain.kinds import InputType
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.money import Currency
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.iso_codes import currency as currency_of
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.settings import settings
from chalicelib.store import agents, merchants, terminals
from chalicelib.store.auth_account_calls import take_call
from chalicelib.store.table import Key, read


def get(caller: Caller, now: datetime, *, current_account_id: int | None = None) -> AccountConfiguration:
    """Return the configuration of the caller's account, or raise TOO_SOON within the stage's interval."""
    admitted = admit(caller, *_terminal_keys(caller), current_account_id=current_account_id)
    agent, merchant = admitted.agent, admitted.merchant

    options = payment_options(agent.mobile_settings, merchant.mobile_settings, _card_acquirer) if merchant else ()
    products = tuple(settings().partners) if merchant else ()
    currency = _currency_taken(admitted, merchant)

    _take_call_of_interval(agent, now)
    return AccountConfiguration(agent, merchant, currency, options, products)


def identity(caller: Caller, account_id: int | None) -> Account:
    """Return the account of the caller, with the currency of its payments.

    With `account_id`, return the merchant of that account and that merchant's currency. Raise AGENT_NOT_FOUND for a
    missing account, one without a merchant, and another merchant's.
    """
    if account_id is None:
        admitted = admit(caller, *_terminal_keys(caller), may_lack_factor=True)
        return Account(admitted.agent, admitted.merchant, _currency_taken(admitted, admitted.merchant))
    admitted = admit(caller, agents.key(account_id), may_lack_factor=True)
    account, merchant = admitted.read(agents.key(account_id)), admitted.merchant
    if account is not None and admitted.agent.is_system_user and account.client_id != NO_CLIENT:
        merchant = read(merchants.key(account.client_id))
    if account is None or merchant is None or account.client_id != merchant.id:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return Account(admitted.agent, merchant, _known(merchant.currency_id))


def _card_acquirer(input_type: InputType) -> tuple[str, str] | None:
    """Return the code and name of the stage's first card acquirer for this kind of payment, if there is one."""
    code = next(iter(acquirers.taking(input_type)), None)
    return (code, acquirers.named(code).name) if code else None


def _terminal_keys(caller: Caller) -> list[Key[Terminal]]:
    return [] if caller.terminal_id is None else [terminals.key(caller.terminal_id)]


def _currency_taken(admitted: Admitted, merchant: Merchant | None) -> Currency | None:
    """Return the currency that the caller takes. Its terminal may be another one than the authorizer's."""
    agent = admitted.agent
    terminal = None if agent.terminal_id is None else admitted.read(terminals.key(agent.terminal_id))
    return currency_taken(agent, terminal, merchant.currency_id if merchant else None)


def currency_taken(agent: Agent, terminal: Terminal | None, of_merchant: str | None) -> Currency | None:
    """Return the currency that payment/submit takes: the terminal's, else the agent's, else the merchant's."""
    return terminal.currency if terminal else _known(agent.currency_id or of_merchant)


def _known(code: str | None) -> Currency | None:
    return currency_of(code) if code else None


def _take_call_of_interval(agent: Agent, now: datetime) -> None:
    interval = timedelta(seconds=settings().auth_account_seconds)
    wait = take_call(agent.id, now, interval) if interval else None
    if wait is not None:
        message = f"This may be asked once in {_in_words(interval)}."
        raise ServiceError(ErrorCode.TOO_SOON, message, retry_after=max(1, math.ceil(wait.total_seconds())))


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _in_words(interval: timedelta) -> str:
    """Return an interval of whole seconds as people read it: ten minutes, one minute, 90 seconds."""
    seconds = int(interval.total_seconds())
    number, unit = (seconds, "second") if seconds % 60 else (seconds // 60, "minute")
    word = NUMBERS[number] if number < len(NUMBERS) else str(number)
    return f"{word} {unit}{'' if number == 1 else 's'}"
