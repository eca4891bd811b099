"""The contract's table of roles as HTTP requests: each endpoint, and the answer that each role gets."""

from collections.abc import Callable
from dataclasses import dataclass, field
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

    @property
    def webhook(self) -> int:
        """Create a webhook of the merchant, and return its ID."""
        administrator = an_account(Right.ADMINISTRATOR, merchant=self.home)
        path = f"/api/v1/merchant/{self.home.id}/webhook/create"
        reply = post(self.stage, path, a_webhook(), (administrator.email, administrator.key))
        created: int = reply.body["Webhook"]["ID"]
        return created

    @property
    def event(self) -> str:
        """Make an event of the merchant, and return its ID."""
        administrator = an_account(Right.ADMINISTRATOR, merchant=self.home)
        path = f"/api/v1/merchant/{self.home.id}/webhook/{self.webhook}/test"
        reply = post(self.stage, path, {}, (administrator.email, administrator.key))
        made: str = reply.body["EventID"]
        return made


@dataclass(frozen=True)
class Row:
    """A request to an endpoint, and the answer that each of ROLES gets."""

    endpoint: str
    body: Callable[[World], Any]
    answers: tuple[Answer, ...]
    parts: Callable[[World], dict[str, Any]] = field(default=lambda _: {})
    what: str = ""

    @property
    def name(self) -> str:
        return f"{self.endpoint} {self.what}".strip()


def _nothing(_: World) -> None:
    return None


def _new_agent(world: World) -> dict[str, Any]:
    merchant_id = world.home.id
    email = f"{uuid4()}@store.example"
    return {"Name": "New", "Email": email, "Phone": "+27829876543", "BranchID": merchant_id, "ClientID": merchant_id}


def _colleague(world: World) -> dict[str, Any]:
    return {"merchantId": world.home.id, "posId": world.colleague.agent.id}


def _itself(world: World) -> dict[str, Any]:
    return {"merchantId": world.caller.agent.client_id, "posId": world.caller.agent.id}


def _home(world: World) -> dict[str, Any]:
    return {"merchantId": world.home.id}


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
    return {"AgentID": world.colleague.agent.id, "Counted": 0}


def _cards(world: World) -> dict[str, Any]:
    return {"AccountId": world.colleague.agent.id}


EVERYBODY = (OK,) * 6
MANAGERS = (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, MERCHANT)
WITH_MERCHANT = (ROLE_MAY_NOT, OK, OK, OK, OK, OK)

ROWS = [
    Row("accounts_session", lambda world: {"Email": world.colleague.email, "Password": PASSWORD}, EVERYBODY),
    Row("accounts_end_session", lambda _: {}, (INVALID,) * 6),  # the password of each role is no session
    Row("accounts_me", _nothing, EVERYBODY),
    Row("accounts_configuration", _nothing, EVERYBODY),
    Row("management_create_merchant", lambda _: merchant_body(), (OK, *[ROLE_MAY_NOT] * 5)),
    Row("management_update_merchant", lambda _: merchant_update(), MANAGERS, _home),
    Row("management_create_agent", _new_agent, MANAGERS, _home),
    Row("management_get_agent", _nothing, MANAGERS, _colleague, "of a colleague"),
    Row("management_get_agent", _nothing, (MERCHANT, OK, OK, OK, OK, OK), _itself, "of itself"),
    Row("management_update_agent", lambda _: {"Name": "Other"}, MANAGERS, _colleague),
    Row(
        "management_update_agents",
        lambda world: {"PosBulk": [{"Email": world.colleague.email, "State": 1}]},
        MANAGERS,
        _home,
    ),
    Row("management_search_agents", lambda _: {}, MANAGERS, _home),
    Row("terminals_list_page", lambda _: {}, MANAGERS, _home),
    Row("management_get_price_list", _nothing, (*[OK] * 5, MERCHANT), _home),
    Row("management_update_price_list", lambda _: {"Version": 0}, MANAGERS, _home),
    Row("webhooks_create", lambda _: a_webhook(), MANAGERS, _home),
    Row("webhooks_list_webhooks", lambda _: {}, MANAGERS, _home),
    Row("webhooks_update", lambda _: {"State": 0}, MANAGERS, lambda world: _home(world) | {"webhookId": world.webhook}),
    Row("webhooks_delete", lambda _: {}, MANAGERS, lambda world: _home(world) | {"webhookId": world.webhook}),
    Row("webhooks_test", lambda _: {}, MANAGERS, lambda world: _home(world) | {"webhookId": world.webhook}),
    Row("webhooks_list_events", lambda _: {}, MANAGERS, _home),
    Row("webhooks_resend_event", lambda _: {}, MANAGERS, lambda world: _home(world) | {"eventId": world.event}),
    Row("terminals_create", lambda world: terminal_body(world.home.id), (*MANAGERS[:5], BRANCH)),
    Row("payments_submit", lambda _: a_body(), WITH_MERCHANT),
    Row(
        "payments_get",
        _nothing,
        (OK, OK, ROLE_MAY_NOT, OK, OK, TRANSACTION),
        lambda world: {"tranId": world.payment},
        "of a colleague",
    ),
    Row(
        "payments_receipt",
        _nothing,
        (OK, OK, ROLE_MAY_NOT, OK, OK, TRANSACTION),
        lambda world: {"tranId": world.payment},
        "of a colleague",
    ),
    Row(
        "payments_send_receipt",
        lambda _: {"Email": an_email()},
        (OK, OK, ROLE_MAY_NOT, OK, OK, TRANSACTION),
        lambda world: {"tranId": world.payment},
        "of a colleague",
    ),
    Row("payments_status_public", _nothing, EVERYBODY, lambda world: {"tranId": world.payment}),
    Row("pages_health", _nothing, EVERYBODY),
    Row("payments_reverse", _reverse(2), (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, OK, TRANSACTION), what="of a colleague"),
    Row(
        "payments_reverse_cnp",
        _reverse(5),
        (ELSEWHERE, ELSEWHERE, ROLE_MAY_NOT, ROLE_MAY_NOT, ELSEWHERE, TRANSACTION),
        what="of a colleague",
    ),
    Row("history_list_history", _history, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), what="of a colleague"),
    Row("history_list_history", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), what="of itself"),
    Row("history_list_by_days", _history, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), what="of a colleague"),
    Row("history_list_by_days", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), what="of itself"),
    Row("history_takings", _takings, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), what="of a colleague"),
    Row("history_takings", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), what="of itself"),
    Row("drawers_report", _drawer, (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, AGENT), what="of a colleague"),
    Row("drawers_report", lambda _: {"Float": 0}, (INVALID, OK, OK, OK, OK, OK), what="of itself"),
    Row("drawers_list_of_day", _takings, (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, AGENT), what="by account"),
    Row("drawers_list_of_day", lambda _: {}, (INVALID, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, OK)),
    Row("history_export", _history, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), what="of a colleague"),
    Row("history_export", lambda _: {}, (INVALID, OK, OK, OK, OK, OK), what="of itself"),
    Row("history_export", _journal, (OK, OK, ROLE_MAY_NOT, OK, ROLE_MAY_NOT, AGENT), what="a journal of a colleague"),
    Row(
        "accounts_list_cards", _cards, (OK, OK, ROLE_MAY_NOT, ROLE_MAY_NOT, ROLE_MAY_NOT, AGENT), what="of a colleague"
    ),
    Row("accounts_list_cards", lambda _: {}, EVERYBODY, what="of itself"),
    Row("payments_prepare", _prepare, (ROLE_MAY_NOT, *[PRODUCT] * 5)),
]


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


def send(world: World, row: Row, authorization: str | None, **parts: Any) -> Reply:
    endpoint = endpoint_of(row)
    path = endpoint.path.format(**{**row.parts(world), **parts})
    headers = {"Authorization": authorization} if authorization else {}
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
