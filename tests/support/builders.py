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
from tests.support import http

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


DEVICE = {
    "PhoneManufacturer": "Acme",
    "PhoneModel": "One",
    "DeviceID": "a1",
    "DeviceType": "POS",
    "AppFramework": "None",
    "OS": "Android",
    "OSVersion": "14",
    "AppID": "till",
    "BuildNumber": "7",
}
CONTEXT: dict[str, Any] = {
    "Location": {"Latitude": -33.92, "Longitude": 18.42},
    "Country": "South Africa",
    "CountryCode": "ZA",
    "DeviceInfo": DEVICE,
    "GMT": 2,
    "AppFramework": "None",
    "Lang": "en",
    "IP": "10.0.0.1",
}
MOBILE_SETTINGS: dict[str, Any] = {
    "Features": {
        "AcceptCards": True,
        "AcceptCash": True,
        "AcceptPrepaid": True,
        "AcceptCredit": True,
        "AcceptOuterCard": True,
        "ShowInventory": True,
        "RegularPayments": True,
        "Offline": True,
        "AsyncCashProcessing": True,
        "InternalUpdate": True,
        "AutoLogin": True,
        "Inherited": False,
        "ChangeClientLogo": True,
        "BarcodeScanner": True,
    },
    "MobHomeURL": "https://shop.example",
    "MobHomeURLNull": False,
    "MobQRUrl": "https://shop.example/qr",
    "MobQRUrlNull": False,
    "AllowLinkedCards": 1,
    "AllowCreditVoucherReverses": 1,
    "ServicePayDashboard": True,
    "ServicePayDashboardNull": False,
    "MobileAppPasswordStore": True,
    "BarcodeScanner": True,
    "BarcodeScannerNull": False,
}


def changed(body: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the changes; a None leaves the field out."""
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


def merchant_body(**changes: Any) -> dict[str, Any]:
    """Return the body of merchant/create with everything the specification lists."""
    return changed(
        {
            **CONTEXT,
            "Name": "Corner Store",
            "Phone": "+27 82 987 6543",
            "FInstID": 4,
            "AddressDeFacto": "1 Long Street",
            "ClientManager": {"UserName": "Thandi", "UserEmail": an_email(), "UserPhone": "+27 82 987 6543"},
            "AddressDeJure": "2 Short Street",
            "Description": "Groceries",
            "Web": "https://shop.example",
            "State": 1,
            "SendWelcomeEmail": True,
            "ClientSource": "fair",
            "TaxSystemID": 1,
            "SupportCuratorID": 2,
            "HunterID": 3,
            "OriginCuratorID": 4,
            "CashRegisterCuratorID": 5,
            "ProductSolutionID": 6,
            "ContractTypeID": 7,
            "ClientMode": 1,
            "ClientImportance": 100,
            "ClientType": 2,
            "TaxID": "4012345678",
            "MobileSettings": MOBILE_SETTINGS,
            "ImageAvatar": image(),
            "Sbp": {"Merchant": {"Rate": 0.7}},
        },
        changes,
    )


def merchant_update(**changes: Any) -> dict[str, Any]:
    """Return the body of merchant/{merchantId}/update with everything an administrator may send but the ID."""
    left_out = dict.fromkeys(
        (
            *("FInstID", "ClientManager", "SendWelcomeEmail", "HunterID", "ClientType", "ImageAvatar", "Sbp"),
            "ClientImportance",  # only a system user
        )
    )
    return changed(merchant_body(**left_out) | {"BarcodeScanner": True, "Image": image(JPEG)}, changes)


def agent_body(merchant_id: int, **changes: Any) -> dict[str, Any]:
    """Return the body of pos/create with everything the specification lists but the terminal."""
    return changed(
        {
            **CONTEXT,
            "Name": "Till 1",
            "Email": an_email(),
            "Phone": "+27 82 987 6543",
            "BranchID": merchant_id,
            "ClientID": merchant_id,
            "State": 1,
            "Password": PASSWORD,
            "SecretKey": "a secret key of some length",
            "AddressDeFacto": "1 Long Street",
            "SendWelcomeEmail": True,
            "BranchesActions": [{"BranchID": merchant_id, "Actions": [201, 301]}],
            "AccountType": 20,
            "ImageAvatar": image(),
            "MobileSettings": MOBILE_SETTINGS,
            "PrinterSettings": {"Paper": {"Width": 58}},
            "PrinterAndTaxSettings": {"PrinterID": 1, "PrinterCode": "ESCPOS58"},
        },
        changes,
    )


def agent_update(**changes: Any) -> dict[str, Any]:
    """Return the body of pos/{posId}/update with everything the specification lists but the ID and the terminal."""
    return changed(
        {
            **CONTEXT,
            "Name": "Till 2",
            "Email": an_email(),
            "Phone": "+27 82 987 6544",
            "State": 1,
            "Password": "another password of some length",
            "AddressDeFacto": "3 Long Street",
            "CountryID": "ZA",
            "CurrencyID": "ZAR",
            "LanguageID": "en",
            "Unlock": True,
            "EndSessions": True,
            "PhoneNull": False,
            "TIDNull": False,
            "SecretKey": "another secret key of some length",
            "TaxID": "4012345678",
            "UserKindID": 1,
            "Image": image(JPEG),
            "MobileSettings": MOBILE_SETTINGS,
            "ServerFiscalization": {"On": False},
            "PrinterAndTaxSettings": {"PrinterID": 2, "PrinterCode": "ESCPOS80"},
            "PrinterSettings": {"Paper": {"Width": 80}},
            "AcquirersSettings": {"Order": ["CASH"]},
        },
        changes,
    )


def terminal_body(merchant_id: int, **changes: Any) -> dict[str, Any]:
    """Return the body of terminal/create with everything the specification lists but the group's ID."""
    return changed(
        {
            "BranchID": merchant_id,
            "Name": f"T{secrets.token_hex(4)}",
            "Alias": "Till 1",
            "SIC": "5411",
            "Title": "Corner Store",
            "Currency": "710",
            "Country": "710",
            "City": "Cape Town",
            "Location": "1 Long Street",
            "EntryCaps": "8",
            "RegionCode": "WC",
            "CountryCode": "ZA",
            "DeviceInfo": DEVICE,
            "TerminalGroupCode": "SOFTPOS",
            "Phone": "+27 82 987 6543",
            "State": 1,
            "Description": "At the door",
            "Class": "A",
            "BackRetailerID": f"{merchant_id:015d}",  # each merchant has its own
            "Owner": "Thandi",
            "Region": "Western Cape",
            "Branch": "Main",
            "ZIP": "8001",
            "TimeOffset": "+02:00",
            "ContactlessCapable": "1",
            "SelfSevice": "0",
            "Type": "POS",
            "Latitude": -33.92,
            "Longitude": 18.42,
            "WithAccounts": False,
            "ForAccount": False,
            "Sbp": {"Id": "1"},
            "IP": "10.0.0.1",
            "Lang": "en",
        },
        changes,
    )


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
