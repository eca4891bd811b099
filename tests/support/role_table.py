"""The contract's table of roles as HTTP requests: each endpoint, and the answer that each role gets."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.permissions import Right
from chalicelib.endpoints import ENDPOINTS
from chalicelib.web import Endpoint
from tests.support.accounts import (
    PASSWORD,
    Account,
    a_stored_merchant,
    a_stored_terminal,
    accept_test_tokens,
    an_account,
    basic,
)
from tests.support.builders import CONTEXT, a_webhook, an_email, merchant_body, merchant_update, terminal_body
from tests.support.http import Reply, call, post
from tests.support.transactions import a_body

Answer = tuple[int, int]  # HTTP status, ErrorCode
OK, ROLE_MAY_NOT, NOT_THE_CALLER = (200, 0), (403, 151), (403, 152)
MERCHANT, AGENT, BRANCH, PRODUCT, TRANSACTION = (404, 561), (404, 563), (404, 565), (404, 567), (404, 568)
INVALID = (400, 202)  # a system user has no history of its own: it names an account
DEAD_LINK = (401, 106)
ELSEWHERE = (409, 303)  # a cash payment is reversed at the other endpoint: this error means that the role may reverse

ROLES = ("system", "administrator", "agent", "with 201", "with 301", "another merchant's administrator")
CREDENTIAL_ERRORS = {
    "nobody": 101,
    "with a wrong secret": 102,
    "blocked agent": 103,
    "agent of a blocked merchant": 108,
}
CREDENTIALS = ("secret key", "Jwt", "Session", "session as Basic secret")  # of the agent; the roles use passwords


@dataclass(frozen=True)
class World:
    """A merchant with an agent that has taken a payment (the colleague), and the caller."""

    stage: str
    home: Merchant
    colleague: Account
    caller: Account

    @property
    def payment(self) -> str:
        """Take a payment as the colleague, and return its ID."""
        reply = post(self.stage, "/api/v1/payment/submit", a_body(), (self.colleague.email, self.colleague.key))
        paid: str = reply.body["TransactionID"]
        return paid

    @cached_property
    def webhook(self) -> int:
        """Create the webhook of the merchant, and return its ID."""
        administrator = an_account(Right.ADMINISTRATOR, merchant=self.home)
        path = f"/api/v1/merchant/{self.home.id}/webhook/create"
        reply = post(self.stage, path, a_webhook(), (administrator.email, administrator.key))
        created: int = reply.body["Webhook"]["ID"]
        return created

    @cached_property
    def event(self) -> str:
        """Make an event for the webhook, and return its ID."""
        administrator = an_account(Right.ADMINISTRATOR, merchant=self.home)
        path = f"/api/v1/merchant/{self.home.id}/webhook/{self.webhook}/test"
        reply = post(self.stage, path, {}, (administrator.email, administrator.key))
        made: str = reply.body["EventID"]
        return made


# What each part of a path names: an object of the merchant `home`.
PARTS: dict[str, Callable[[World], Any]] = {
    "merchantId": lambda world: world.home.id,
    "posId": lambda world: world.colleague.agent.id,
    "terminalId": lambda world: world.colleague.agent.terminal_id,
    "webhookId": lambda world: world.webhook,
    "eventId": lambda world: world.event,
    "tranId": lambda world: world.payment,
}


@dataclass(frozen=True)
class Row:
    """A request to an endpoint, and the answer that each of ROLES gets."""

    endpoint: str
    body: Callable[[World], Any]
    answers: tuple[Answer, ...]
    what: str = ""
    given: Callable[[World], dict[str, Any]] = field(default=lambda _: {})  # parts of the path, not as in PARTS

    @property
    def name(self) -> str:
        return f"{self.endpoint} {self.what}".strip()

    def parts(self, world: World) -> dict[str, Any]:
        """Return the parts of the path: they name the colleague's merchant and its objects."""
        given = self.given(world)
        return {name: given[name] if name in given else PARTS[name](world) for name in parts_of(endpoint_of(self))}


def fixed(row: Row, parts: dict[str, Any], body: Any) -> Row:
    """Return the row with this path and body at each request."""
    return replace(row, given=lambda _: parts, body=lambda _: body)


def _nothing(_: World) -> None:
    return None


def _new_agent(world: World) -> dict[str, Any]:
    merchant_id = world.home.id
    email = f"{uuid4()}@store.example"
    return {"Name": "New", "Email": email, "Phone": "+27829876543", "BranchID": merchant_id, "ClientID": merchant_id}


def _itself(world: World) -> dict[str, Any]:
    return {"merchantId": world.caller.agent.client_id, "posId": world.caller.agent.id}


def _reverse(mode: int) -> Callable[[World], dict[str, Any]]:
    return lambda world: {
        "BasicReverseTran": {"TransactionID": world.payment, "ReverseMode": mode, "InputType": 10, "CurrencyID": "ZAR"}
    }


def _prepare(_: World) -> dict[str, Any]:
    return {**CONTEXT, "PrepareFields": [], "ProductDescCode": "nobody-has-this"}


def _history(world: World) -> dict[str, Any]:
    return {"ListBasicModel": {"AccountID": world.colleague.agent.id}}


def _journal(world: World) -> dict[str, Any]:
    return {**_history(world), "Format": "hledger", "Period": {"From": "2026-03-01", "To": "2026-03-31"}}


def _takings(world: World) -> dict[str, Any]:
    return {"AccountID": world.colleague.agent.id}


def _drawer(world: World) -> dict[str, Any]:
    return {"AgentID": world.colleague.agent.id, "Action": "open", "Float": 0}


def _cards(world: World) -> dict[str, Any]:
    return {"AccountId": world.colleague.agent.id}


def _other_terminal(world: World) -> dict[str, Any]:
    return {"Location": "1 Long Street", "BackRetailerID": f"{world.home.id:015d}"}


EVERYBODY = (OK,) * 6
MANAGERS = (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, MERCHANT)
OF_PAYMENT = (OK, OK, ROLE_MAY_NOT, OK, OK, TRANSACTION)
WITH_MERCHANT = (ROLE_MAY_NOT, OK, OK, OK, OK, OK)

ROWS = [
    Row("accounts_session", lambda world: {"Email": world.colleague.email, "Password": PASSWORD}, EVERYBODY),
    Row("accounts_end_session", lambda _: {}, (INVALID,) * 6),  # the password of each role is no session
    Row("accounts_totp", lambda _: {}, (INVALID,) * 6),  # as above
    Row("accounts_forget_password", lambda world: {"Email": world.colleague.email}, EVERYBODY),
    Row("accounts_reset_password", lambda _: {"Token": "none", "Password": PASSWORD}, (DEAD_LINK,) * 6),
    Row("accounts_me", _nothing, EVERYBODY),
    Row("accounts_configuration", _nothing, EVERYBODY),
    Row("management_create_merchant", lambda _: merchant_body(), (OK, *[ROLE_MAY_NOT] * 5)),
    Row("management_list_merchants", lambda _: {}, (OK, *[ROLE_MAY_NOT] * 5)),
    Row("management_get_merchant", _nothing, MANAGERS),
    Row("management_update_merchant", lambda _: merchant_update(), MANAGERS),
    Row("management_create_agent", _new_agent, MANAGERS),
    Row("management_get_agent", _nothing, MANAGERS, "of a colleague"),
    Row("management_get_agent", _nothing, (MERCHANT, OK, OK, OK, OK, OK), "of itself", _itself),
    Row("management_update_agent", lambda _: {"Name": "Other"}, MANAGERS),
    Row(
        "management_update_agents", lambda world: {"PosBulk": [{"Email": world.colleague.email, "State": 1}]}, MANAGERS
    ),
    Row("management_search_agents", lambda _: {}, MANAGERS),
    Row("terminals_list_page", lambda _: {}, MANAGERS),
    Row("management_get_price_list", _nothing, (*[OK] * 5, MERCHANT)),
    Row("management_update_price_list", lambda _: {"Version": 0}, MANAGERS),
    Row("webhooks_create", lambda _: a_webhook(), MANAGERS),
    Row("webhooks_list_webhooks", lambda _: {}, MANAGERS),
    Row("webhooks_update", lambda _: {"State": 0}, MANAGERS),
    Row("webhooks_delete", lambda _: {}, MANAGERS),
    Row("webhooks_test", lambda _: {}, MANAGERS),
    Row("webhooks_list_events", lambda _: {}, MANAGERS),
    Row("webhooks_resend_event", lambda world: {"WebhookID": world.webhook}, MANAGERS),
    Row("terminals_update", _other_terminal, MANAGERS),
    Row("terminals_create", lambda world: terminal_body(world.home.id), (*MANAGERS[:5], BRANCH)),
    Row("payments_submit", lambda _: a_body(), WITH_MERCHANT),
    Row("payments_get", _nothing, OF_PAYMENT, "of a colleague"),
    Row("receipts_get", _nothing, OF_PAYMENT, "of a colleague"),
    Row("receipts_send", lambda _: {"Email": an_email()}, OF_PAYMENT, "of a colleague"),
    Row("payments_status_public", _nothing, EVERYBODY),
    Row("pages_health", _nothing, EVERYBODY),
    Row("reversals_reverse", _reverse(2), (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, OK, TRANSACTION), "of a colleague"),
    Row(
        "reversals_reverse_cnp",
        _reverse(5),
        (ELSEWHERE, ELSEWHERE, ROLE_MAY_NOT, ROLE_MAY_NOT, ELSEWHERE, TRANSACTION),
        "of a colleague",
    ),
    Row("history_list_history", _history, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), "of a colleague"),
    Row("history_list_history", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), "of itself"),
    Row("history_list_by_days", _history, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), "of a colleague"),
    Row("history_list_by_days", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), "of itself"),
    Row("history_takings", _takings, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), "of a colleague"),
    Row("history_takings", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), "of itself"),
    Row("drawers_report", _drawer, (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, AGENT), "of a colleague"),
    Row("drawers_report", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), "of itself"),
    Row("drawers_list_opened", _takings, (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, AGENT), "by account"),
    Row("drawers_list_opened", lambda _: {}, (INVALID, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, OK)),
    Row("history_export", _history, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), "of a colleague"),
    Row("history_export", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), "of itself"),
    Row("history_export", _journal, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), "a journal of a colleague"),
    Row("accounts_list_cards", _cards, (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, AGENT), "of a colleague"),
    Row("accounts_list_cards", lambda _: {}, EVERYBODY, "of itself"),
    Row("prepare_prepare", _prepare, (ROLE_MAY_NOT, *[PRODUCT] * 5)),
]


def parts_of(endpoint: Endpoint) -> list[str]:
    return re.findall(r"{(\w+)}", endpoint.path)


def endpoint_of(row: Row) -> Endpoint:
    return next(endpoint for endpoint in ENDPOINTS if endpoint.name == row.endpoint)


def _account(role: str, home: Merchant, other: Merchant) -> Account:
    """Store an account of this role; each account with a merchant has a terminal."""
    if role == "system":
        return an_account(system=True)
    at = {"another merchant's administrator": other}.get(role, home)
    rights = {
        "administrator": (Right.ADMINISTRATOR,),
        "another merchant's administrator": (Right.ADMINISTRATOR,),
        "with 201": (Right.VIEW_DIVISIONS,),
        "with 301": (Right.REVERSE_OTHERS,),
    }
    return an_account(*rights.get(role, ()), merchant=at, terminal_id=a_stored_terminal(at))


def a_world(stage: str, role: str) -> World:
    home, other = a_stored_merchant(), a_stored_merchant()
    colleague = an_account(merchant=home, terminal_id=a_stored_terminal(home))
    return World(stage, home, colleague, _account(role, home, other))


def send(world: World, row: Row, authorization: str | None, key: str | None = None, **parts: Any) -> Reply:
    endpoint = endpoint_of(row)
    path = endpoint.path.format(**{**row.parts(world), **parts})
    headers = {"Authorization": authorization} if authorization else {}
    headers |= {} if key is None else {"Idempotency-Key": key}
    return call(world.stage, endpoint.method, path, row.body(world), None, headers)


def _session_of(world: World) -> str:
    body = {"Email": world.caller.email, "Password": PASSWORD}
    session_id: str = post(world.stage, "/api/v1/user/login/session", body, None).body["Data"]["SessionID"]
    return session_id


def authorization_of(world: World, scheme: str) -> str:
    caller = world.caller
    if scheme == "secret key":
        return caller.basic_with_key
    if scheme == "Jwt":
        accept_test_tokens()
        return caller.jwt()
    session_id = _session_of(world)
    return f"Session {session_id}" if scheme == "Session" else basic(caller.email, session_id)
