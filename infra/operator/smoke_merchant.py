"""The merchant of the smoke payments: `python -m infra.operator smoke-merchant`. It is the operator's own.

`make deploy` takes a payment at its till and returns it (`infra.stack.smoke`).
"""

import argparse
import re
import sys
from typing import Any

from chalicelib import outside
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import canonical
from chalicelib.schemas.agents import CreateAgent
from chalicelib.schemas.field_types import EMAIL
from chalicelib.schemas.merchants import CreateMerchant
from chalicelib.schemas.terminals import CreateTerminal
from chalicelib.services import agents as agents_service
from chalicelib.services import merchants, terminals
from chalicelib.services.authentication import new_secret_key
from chalicelib.store import agents, audit
from chalicelib.store.merchants import key as merchant_key
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import read
from infra.operator.system_users import agent_of, replace_credentials
from infra.operator.terminal import act

NAME, TID = "Smoke payments", "SMOKE"
ONLY_CASH = {"MobileSettings": {"Features": {"AcceptCash": True, "AcceptCards": False}, "AllowLinkedCards": 0}}
PHONE = "+27 82 987 6543"  # nobody is called: the merchant sends no message
NAMES = "PhoneManufacturer PhoneModel DeviceID DeviceType AppFramework OS OSVersion AppID BuildNumber"
CONTEXT: dict[str, Any] = {
    "Location": {"Latitude": -33, "Longitude": 18},
    "Country": "South Africa",
    "CountryCode": "ZA",
    "DeviceInfo": dict.fromkeys(NAMES.split(), "operator"),
    "GMT": 2,
    "AppFramework": "None",
    "IP": "127.0.0.1",
    "Lang": "en",
}


def smoke_merchant_command(options: argparse.Namespace) -> None:
    """Create the merchant and its till, or give its till another key. Print the two variables of `make deploy`."""
    if not re.fullmatch(EMAIL, options.email):
        sys.exit("The e-mail address is not valid.")
    system_user = agent_of(options.system_user)
    if not system_user.is_system_user:
        sys.exit(f"Agent {system_user.id}, of --system-user, is no system user.")
    login = read(agents.login_key(canonical(options.email)))
    if login is None:
        key, merchant_id = _create(system_user, options.email)
        print(f"# merchant {merchant_id}, {NAME}: leave it out of sums over all merchants")
    else:
        key = _replace_key(agent_of(options.email), is_wanted=options.new_key)
    print(f"export SMOKE_LOGIN={canonical(options.email)} SMOKE_PASSWORD={key.reveal()}")


def _create(system_user: Agent, email: str) -> tuple[Secret, int]:
    """Create merchant, terminal and till. After an interruption the next run makes another merchant."""
    caller, now = Caller(system_user.id, system_user.client_id, system_user.credential_version), outside.now()
    manager = {"UserName": system_user.name, "UserEmail": system_user.email, "UserPhone": PHONE}
    body = {"Name": NAME, "Phone": PHONE, "FInstID": 1, "AddressDeFacto": "-", "ClientManager": manager}
    created = merchants.create(CreateMerchant.model_validate(CONTEXT | body | ONLY_CASH), caller, now)
    merchant_id = created.record.merchant.id
    place = {"Currency": "710", "Country": "710", "City": "Cape Town", "Location": "-", "RegionCode": "WC"}
    terminal = {"Name": TID, "Title": NAME, "SIC": "5999", "EntryCaps": "8", "CountryCode": "ZA"} | {
        "DeviceInfo": CONTEXT["DeviceInfo"]
    }
    terminals.create(CreateTerminal.model_validate({"BranchID": merchant_id, **place, **terminal}), caller, now)
    key = new_secret_key()
    till = {"Name": NAME, "Email": email, "Phone": PHONE, "TID": TID, "SecretKey": key.reveal()}
    ids = {"BranchID": merchant_id, "ClientID": merchant_id}
    agents_service.create(CreateAgent.model_validate(till | ids), caller, merchant_id, now)
    return key, merchant_id


def _replace_key(till: Agent, *, is_wanted: bool) -> Secret:
    """Give the till another key and password. Exit with one line if nobody wants it, or if it is another till."""
    merchant = read(merchant_key(till.client_id))
    if merchant is None or merchant.name != NAME:
        sys.exit(f"Agent {till.id} has this e-mail and belongs to no merchant {NAME}: choose another e-mail.")
    if not is_wanted:
        sys.exit("The till exists. --new-key gives it another key, and deployments need the new SMOKE_PASSWORD.")
    try:
        key = replace_credentials(till, new_secret_key())
    except ChangedMeanwhileError:
        sys.exit("Somebody else changed the till meanwhile. Nothing was changed: run the command again.")
    audit.store(f"agent#{till.id}", act("show"), agents_service.SHOWN)
    return key
