"""The demo data of the local stage. It is always the same; the services of the API create it."""

import base64
from typing import Any

from chalicelib import outside
from chalicelib.domain import card
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.card import CardInput
from chalicelib.domain.kinds import DEFAULT_FEATURES, InputType
from chalicelib.domain.permissions import Right
from chalicelib.domain.secret import Secret
from chalicelib.schemas.agents import CreateAgent
from chalicelib.schemas.base import wire_name
from chalicelib.schemas.merchants import CreateMerchant
from chalicelib.schemas.terminals import CreateTerminal
from chalicelib.services import agents, linked_cards, merchants, terminals
from chalicelib.settings import SANDBOX, settings
from infra.local import mail_viewer
from infra.operator import smoke_merchant, stage_secret
from infra.operator.system_users import create_system_user

SYSTEM = ("system@demo.example", "system-demo-password")
OWNER = ("owner@demo.example", "owner-demo-password")
TILL = ("till@demo.example", "till-demo-password")
TILL_KEY = "till-demo-secret-key-0001"
OTHER_OWNER = ("owner@other.example", "owner-other-password")
OTHER_TILL = ("till@other.example", "till-other-password")
SIGNING_SECRET = "demo-signing-secret-of-the-local-stage"  # noqa: S105  only of the local stage

VISA = ("4111111111111111", "1249")  # a test number: the cents of the amount decide

PHONE = smoke_merchant.PHONE
CONTEXT = smoke_merchant.CONTEXT
FIRST_PAYMENT = (
    '{"BasicTran": {"InputType": 10, "CurrencyID": "ZAR", "Amount": 10.10, "Description": "A coffee"},'
    ' "AcqTran": {"AcquirerCode": "CASH"}}'
)
ALL_FEATURES = {wire_name(name): True for name in vars(DEFAULT_FEATURES) if name != "inherited"}


LOGINS = {
    "system user": SYSTEM,
    "administrator": OWNER,
    "till": TILL,
    "till, by its secret key": (TILL[0], TILL_KEY),
    "administrator of another merchant": OTHER_OWNER,
    "till of another merchant": OTHER_TILL,
}


def seed() -> Agent:
    """Create a system user, and two merchants with an administrator, an agent and a terminal each; link a card.

    The card is linked if the stage has the sandbox. Return the agent of the first merchant.
    """
    stage_secret.rotate_signing(Secret(SIGNING_SECRET), again=True)
    user = create_system_user("System", SYSTEM[0], Secret(SYSTEM[1]))
    system = Caller(user.id, user.client_id, user.credential_version)
    agent = {"SecretKey": TILL_KEY, "MobileSettings": {"Features": ALL_FEATURES, "AllowLinkedCards": 1}}
    till = _create_merchant(system, "Demo Store", ("DEMO0001", "DEMOBANK0000001"), (OWNER, TILL), agent)
    if SANDBOX in settings().acquirers:  # the one that links cards
        _link_card(till, *VISA)
    _create_merchant(system, "Other Store", ("OTHER001", "DEMOBANK0000002"), (OTHER_OWNER, OTHER_TILL), {})
    return till


def _link_card(agent: Agent, pan: str, expiry: str) -> None:
    visa, _ = card.read(InputType.MANUAL_ENTRY, CardInput(Secret(pan), Secret(expiry)))
    if visa is not None:
        linked_cards.link(agent, visa, "Demo Visa", outside.now(), SANDBOX)


def _create_merchant(
    system: Caller, name: str, terminal: tuple[str, str], logins: tuple[tuple[str, str], ...], agent: dict[str, Any]
) -> Agent:
    """Create a merchant with a terminal (TID, MID), an administrator and an agent, and return the agent."""
    (owner, owner_password), (till, till_password) = logins
    tid, _ = terminal
    now = outside.now()
    manager = {"UserName": f"{name} Owner", "UserEmail": owner, "UserPhone": PHONE}
    body = {"Name": name, "Phone": PHONE, "FInstID": 1, "AddressDeFacto": "1 Long Street", "ClientManager": manager}
    created = merchants.create(CreateMerchant.model_validate(CONTEXT | body), system, now)
    merchant = created.record.merchant
    terminals.create(CreateTerminal.model_validate(terminal_body(merchant.id, name, terminal)), system, now)

    common = {"Phone": PHONE, "BranchID": merchant.id, "ClientID": merchant.id}
    rights = {"BranchesActions": [{"BranchID": merchant.id, "Actions": [Right.ADMINISTRATOR]}]}
    admin = {"Name": f"{name} Owner", "Email": owner, "Password": owner_password, "TID": tid}
    agents.create(CreateAgent.model_validate(common | admin | rights), system, merchant.id, now)
    user = {"Name": f"{name} Till", "Email": till, "Password": till_password, "TID": tid}
    made = agents.create(CreateAgent.model_validate(common | user | agent), system, merchant.id, now)
    return made.record.agent


def terminal_body(merchant_id: int, name: str, terminal: tuple[str, str], entry_caps: str = "8") -> dict[str, Any]:
    """Return the request that creates a terminal with this TID and MID."""
    tid, mid = terminal
    body = {"BranchID": merchant_id, "Name": tid, "Title": name, "BackRetailerID": mid, "SIC": "5411"}
    place = {"Currency": "710", "Country": "710", "City": "Cape Town", "Location": "1 Long Street", "RegionCode": "WC"}
    return body | place | {"EntryCaps": entry_caps, "CountryCode": "ZA", "DeviceInfo": CONTEXT["DeviceInfo"]}


def print_welcome(url: str, aws_url: str) -> None:
    """Print where everything is, the demo logins, and a first payment to paste into a shell."""
    print(f"\nThe payment service is on {url}. The AWS services are simulated: no account is needed. Ctrl-C ends it.")
    print("All data is lost at the end.\n")
    for what, address in (
        ("The till", f"{url}/till"),
        ("The shop's page", f"{url}/app"),
        ("The reference of the interface", f"{url}/docs"),
        ("The OpenAPI document", f"{url}/api/v1/openapi.json"),
        ("E-mails and text messages that were sent", f"{aws_url}{mail_viewer.PATH}"),
    ):
        print(f"  {what:<42} {address}")
    print()
    for role, (email, password) in LOGINS.items():
        print(f"  {role:<34} {email:<22} {password}")
    credential = base64.b64encode(":".join(TILL).encode()).decode()
    print(
        f"\nA first payment:\n\ncurl -s {url}/api/v1/payment/submit \\\n"
        f"  -H 'Authorization: Basic {credential}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{FIRST_PAYMENT}'\n",
        flush=True,
    )
