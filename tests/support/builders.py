"""Builders of valid merchants, agents and terminals; a test changes only the field that it is about."""

import base64
import itertools
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.merchant import Manager, Merchant, TerminalGroup
from chalicelib.domain.money import Currency
from chalicelib.domain.terminal import Terminal
from tests.support import http, spec_fields, specification
from tests.support.specification import B, D, I, N, S

NOW = datetime(2026, 3, 14, 9, 26, 53, 589793, tzinfo=UTC)
PHONE = "+27 82 987 6543"
PASSWORD = "a password of some length"  # noqa: S105  it opens nothing
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(60)
JPEG = b"\xff\xd8\xff\xe0" + bytes(60)

_ids = itertools.count(500_000)  # far from the sequences'


def an_email() -> str:
    return f"{secrets.token_hex(6)}@shop.example"


def a_merchant(**changes: Any) -> Merchant:
    facts: dict[str, Any] = {
        "id": next(_ids),
        "name": "Corner Store",
        "phone": PHONE,
        "financial_institution_id": 1,
        "address_de_facto": "1 Long Street",
        "manager": Manager("Thandi", "thandi@shop.example", PHONE),
        "latitude": Decimal("-33.9"),
        "longitude": Decimal("18.4"),
        "country": "South Africa",
        "country_code": "ZA",
        "gmt": 2,
        "language": "en",
        "groups": (TerminalGroup(1, "DEFAULT"), TerminalGroup(2, "SOFTPOS"), TerminalGroup(3, "SBP")),
        "created_at": NOW,
    }
    return Merchant(**{**facts, **changes})


def an_agent(**changes: Any) -> Agent:
    facts: dict[str, Any] = {
        "id": next(_ids),
        "client_id": 7,
        "name": "Till",
        "email": an_email(),
        "phone": PHONE,
        "created_at": NOW,
    }
    return Agent(**{**facts, **changes})


def a_login(agent: Agent, **changes: Any) -> Login:
    facts: dict[str, Any] = {"email": agent.email, "agent_id": agent.id, "client_id": agent.client_id}
    return Login(**{**facts, **changes})


def a_terminal(**changes: Any) -> Terminal:
    facts: dict[str, Any] = {
        "id": next(_ids),
        "client_id": 7,
        "tid": "SHOP0001",
        "alias": "SHOP0001",
        "title": "Till 1",
        "sic": "5411",
        "currency": Currency("ZAR", "710", 2),
        "country": "710",
        "city": "Cape Town",
        "location": "1 Long Street",
        "entry_caps": "8",
        "region_code": "WC",
        "country_code": "ZA",
        "group_id": 1,
        "created_at": NOW,
        "financial_institution_id": 1,
        "branch_name": "Corner Store",
    }
    return Terminal(**{**facts, **changes})


def image(content: bytes = PNG) -> dict[str, str]:
    return {"Data": base64.b64encode(content).decode()}


_NUMBERS = (
    *("TaxSystemID", "SupportCuratorID", "HunterID", "OriginCuratorID", "CashRegisterCuratorID"),
    *("ProductSolutionID", "ContractTypeID"),
)
# The values of complete requests, by the last names of a field's path. Any other field has a value of its kind.
VALUES: dict[str, Any] = {
    "Location": {"Latitude": -33.92, "Longitude": 18.42},
    "CountryCode": "ZA",
    "OS": "Android",
    "GMT": 2,
    "AppFramework": "None",
    "Lang": "en",
    "IP": "10.0.0.1",
    "CountryID": "ZA",
    "CurrencyID": "ZAR",
    "LanguageID": "en",
    "Email": an_email,
    "UserEmail": an_email,
    "Emails": lambda: [an_email()],
    "Phone": PHONE,
    "Phones": ["+27829876544"],
    "UserPhone": PHONE,
    "UserName": "Thandi",
    "Web": "https://shop.example",
    "MobHomeURL": "https://shop.example",
    "MobQRUrl": "https://shop.example/qr",
    "FInstID": 4,
    **{name: number for number, name in enumerate(_NUMBERS, 1)},
    "ClientType": 2,
    "ClientImportance": 100,
    "Sbp": {"Merchant": {"Rate": 0.7}},
    "AddressDeFacto": "1 Long Street",
    "EndSessions": True,
    "TaxID": "4012345678",
    "AccountType": 20,
    "Data": lambda: image()["Data"],
    "Inherited": False,
    "PrinterCode": "ESCPOS58",
    "PrinterSettings": {"Paper": {"Width": 58}},
    "SIC": "5411",
    "Currency": "710",
    "EntryCaps": "8",
    "RegionCode": "WC",
    "TerminalGroupCode": "SOFTPOS",
    "TimeOffset": "+02:00",
    "ContactlessCapable": "1",
    "SelfService": "0",
    "Latitude": -33.92,
    "Longitude": 18.42,
    "Password": PASSWORD,
    "SecretKey": "a secret key of some length",
    "Actions": [201, 301],
    "Url": "https://shop.example/events",
    "Types": ["payment.approved"],
    "Day": "2026-03-14",
    "From": "2026-03-01",
    "To": "2026-03-31",
    "Taxes.Code": "VAT15",
    "TaxCode": "VAT15",
    "TypedTaxCode": "VAT15",
    "Discount": "0",
    "Rate": 15,
    "Barcode": "6001240100011",
    "Price": "12.30",
}


def complete(path: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a body with every field, but those given as None; a value is given by the last names of its path."""
    body: dict[str, Any] = _object(spec_fields.REQUESTS[path], (), VALUES | (given or {}))
    return body


def _object(table: dict[str, Any], path: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
    found = {name: _value(kind, (*path, name), values) for name, (kind, _) in table.items()}
    return {name: value for name, value in found.items() if value is not None}


def _value(kind: Any, path: tuple[str, ...], values: dict[str, Any]) -> Any:
    for start in range(len(path)):
        if (name := ".".join(path[start:])) in values:
            value = values[name]
            return value() if callable(value) else value
    if isinstance(kind, dict):
        return _object(kind, path, values)
    if isinstance(kind, list):
        return [_value(kind[0], path, values)]
    by_kind = {S: path[-1], B: not path[-1].endswith("Null"), I: 1, N: 1.5, D: 1}
    return by_kind.get(kind, {path[-1]: {"Deep": 1}})


MERCHANT = "/api/v1/merchant/{merchantId}"
DEVICE = complete("/api/v1/merchant/create")["DeviceInfo"]
CONTEXT: dict[str, Any] = {
    name: value
    for name, value in complete("/api/v1/payment/prepare", {"CurrentAccountID": None}).items()
    if name in specification.CONTEXT
}


def changed(body: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the changes; a None leaves the field out."""
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


def merchant_body(**changes: Any) -> dict[str, Any]:
    """Return the body of merchant/create with every field."""
    given = {"CurrentAccountID": None, "Name": "Corner Store"}
    return changed(complete("/api/v1/merchant/create", given), changes)


def merchant_update(**changes: Any) -> dict[str, Any]:
    """Return the body of merchant/{merchantId}/update with every field that an administrator may send but the ID."""
    given = {"ID": None, "CurrentAccountID": None, "ClientImportance": None, "Image": image(JPEG)}
    return changed(complete(f"{MERCHANT}/update", given | {"Name": "Corner Store"}), changes)


def agent_body(merchant_id: int, **changes: Any) -> dict[str, Any]:
    """Return the body of pos/create with every field but the terminal."""
    given = {
        **dict.fromkeys(("TerminalID", "TID", "CurrentAccountID")),
        "Name": "Till 1",
        "BranchID": merchant_id,
        "ClientID": merchant_id,
    }
    return changed(complete(f"{MERCHANT}/pos/create", given), changes)


def agent_update(**changes: Any) -> dict[str, Any]:
    """Return the body of pos/{posId}/update with every field but the IDs, the terminal and the rights."""
    given = {
        **dict.fromkeys(("ID", "TerminalID", "TID", "CurrentAccountID", "BranchesActions")),
        "Password": "another password of some length",
        "SecretKey": "another secret key of some length",
        "Phone": "+27 82 987 6544",
        "PrinterID": 2,
        "PrinterCode": "ESCPOS80",
        "Image": image(JPEG),
    }
    return changed(complete(f"{MERCHANT}/pos/{{posId}}/update", given), changes)


def terminal_body(merchant_id: int, **changes: Any) -> dict[str, Any]:
    """Return the body of terminal/create with every field but the group's ID."""
    given = {
        **dict.fromkeys(("GMT", "CurrentAccountID", "TerminalGroupID")),
        "BranchID": merchant_id,
        "Name": f"T{secrets.token_hex(4)}",
        "Country": "710",
        "Location": "1 Long Street",
        "BackRetailerID": f"{merchant_id:015d}",  # each merchant has its own
        "Sbp": {"Id": "1"},
        "WithAccounts": False,
        "ForAccount": False,
    }
    return changed(complete("/api/v1/terminal/create", given), {"AppFramework": None, **changes})


@dataclass(frozen=True)
class Shop:
    """A merchant of a stage with its administrator, created over HTTP."""

    stage: str
    id: int
    owner: tuple[str, str]
    owner_id: int

    @property
    def path(self) -> str:
        return f"/api/v1/merchant/{self.id}"

    def post(self, path: str, body: Any, login: tuple[str, str] | None = None) -> http.Reply:
        return http.post(self.stage, path, body, login or self.owner)

    def agent(self, **changes: Any) -> dict[str, Any]:
        """Create an agent, and return the Pos object of the answer."""
        reply = self.post(f"{self.path}/pos/create", agent_body(self.id, **changes))
        assert reply.status == 200, reply.text
        pos: dict[str, Any] = reply.body["Pos"]
        return pos

    def terminal(self, **changes: Any) -> dict[str, Any]:
        """Create a terminal, and return the Terminal object of the answer."""
        reply = self.post("/api/v1/terminal/create", terminal_body(self.id, **changes))
        assert reply.status == 200, reply.text
        terminal: dict[str, Any] = reply.body["Terminal"]
        return terminal

    def shown(self, agent_id: int) -> dict[str, Any]:
        """Return the Pos object of an agent from get-by-ID."""
        pos: dict[str, Any] = http.get(self.stage, f"{self.path}/pos/{agent_id}", self.owner).body["Pos"]
        return pos


def a_shop(stage: str, **changes: Any) -> Shop:
    """Create a merchant and its administrator, without pictures."""
    body = merchant_body(**{"ImageAvatar": None, **changes})
    merchant = http.post(stage, "/api/v1/merchant/create", body, http.SYSTEM)
    assert merchant.status == 200, merchant.text
    number = merchant.body["Merchant"]["ID"]
    rights = [{"BranchID": number, "Actions": [220]}]
    body = agent_body(number, BranchesActions=rights, SecretKey=None, ImageAvatar=None)
    owner = http.post(stage, f"/api/v1/merchant/{number}/pos/create", body, http.SYSTEM)
    assert owner.status == 200, owner.text
    return Shop(stage, number, (body["Email"], PASSWORD), owner.body["Pos"]["ID"])


def a_webhook(**changes: Any) -> dict[str, Any]:
    """Return the body that creates a webhook, which nobody serves."""
    return {"Url": "https://shop.example/events", **changes}
