"""A till that calls the service over HTTP, with the card that test hosts know."""

import base64
import http.client
import json
import time
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from infra.demo import data as demo_data

SECONDS = 40  # longer than the 20 s for which the service waits for the host
PAN, OTHER_PAN, EXPIRY, EXPIRY_YYMM = "4111111111111111", "5555555555554444", "1230", "3012"
TRACK, CHIP_TRACK = f";{PAN}={EXPIRY_YYMM}1011000012300000?", f";{PAN}={EXPIRY_YYMM}2011000012300000?"
MANUAL, STRIPE, CHIP, CONTACTLESS, LINKED = 1, 2, 3, 4, 5
CANCEL, RETURN, CANCEL_CNP, RETURN_CNP = 1, 2, 3, 5
BY_LINK = 2

Json = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """A transaction as the service shows it."""

    status: int
    body: Json = field(repr=False)

    @property
    def transaction(self) -> Json:
        """The transaction of an answer, or the first of a list; empty when there is none."""
        return self.body.get("Transaction") or next(iter(self.body.get("Transactions") or []), {})

    @property
    def id(self) -> str:
        """The ID of the payment, or of the reversal when this is the answer to one."""
        return str(self.body.get("TransactionReverseID") or self.body.get("TransactionID") or "")

    @property
    def code(self) -> int:
        """ErrorCode."""
        return int(self.body.get("ErrorCode") or 0)

    @property
    def state(self) -> str:
        """State and substate, such as 400/411; empty when there is no transaction."""
        return f"{self.transaction['State']}/{self.transaction['Substate']}" if self.transaction else ""


class Service:
    """A stage, as one of its agents uses it."""

    def __init__(self, url: str, login: tuple[str, str] = demo_data.TILL) -> None:
        self.url = url
        self.login = login

    def pay(
        self, amount: str, input_type: int = MANUAL, *, acquirer: Json | None = None, card: Json | None = None
    ) -> Shown:
        """Submit a payment of this amount by the test card."""
        basic = {"ID": _guid(), "InputType": input_type, "CurrencyID": "ZAR", "Amount": Decimal(amount)}
        body = {"BasicTran": basic, "Card": card or card_of(input_type), "AcqTran": acquirer or {}}
        return self.call("POST", "/api/v1/payment/submit", body)

    def reverse(self, payment: Shown, mode: int, amount: str | None = None, *, card: Json | None = None) -> Shown:
        """Cancel or return a payment, or a part of it if there is an amount."""
        basic: Json = {"ID": _guid(), "TransactionID": payment.id, "ReverseMode": mode}
        basic["InputType"] = payment.transaction["InputType"]
        if amount:
            basic |= {"Amount": Decimal(amount), "PartialReverse": True}
        body = {"BasicReverseTran": basic} | ({"Card": card} if card else {})
        path = "reversecnp" if mode in {CANCEL_CNP, RETURN_CNP} else "reverse"
        return self.call("POST", f"/api/v1/payment/{path}", body)

    def look(self, transaction_id: str) -> Shown:
        """Read a transaction by its ID."""
        return self.call("GET", f"/api/v1/payment/{transaction_id}")

    def wait_for(self, transaction_id: str, state: str, seconds: float = 180) -> Shown:
        """Return the transaction when it has the state, or as it is in the end; at once if there is none."""
        until = time.monotonic() + seconds
        while (shown := self.look(transaction_id)).state not in {state, ""} and time.monotonic() < until:
            time.sleep(1)
        return shown

    def till_without_chip_reader(self) -> "Service":
        """Make a terminal with EntryCaps 7 and a till at it, and return the service as that till uses it."""
        owner, tid = Service(self.url, demo_data.OWNER), "STRIPE07"
        email, password = login = "stripe@demo.example", "stripe-demo-password"
        merchant_id = owner.call("GET", "/api/v1/payment/AuthAccount").body["ClientID"]
        terminal = demo_data.terminal_body(merchant_id, "Stripe Only", (tid, "DEMOBANK0000001"), entry_caps="7")
        till: Json = {"Name": "Stripe Till", "Email": email, "Password": password, "TID": tid, "Phone": demo_data.PHONE}
        till |= {"BranchID": merchant_id, "ClientID": merchant_id}
        till |= {"MobileSettings": {"Features": demo_data.ALL_FEATURES}}
        for path, body in (("terminal/create", terminal), (f"merchant/{merchant_id}/pos/create", till)):
            made = owner.call("POST", f"/api/v1/{path}", demo_data.CONTEXT | body)
            if made.code:
                message = f"{path} was answered {made.code}"
                raise RuntimeError(message)
        return Service(self.url, login)

    def call(self, method: str, path: str, body: Json | None = None) -> Shown:
        """Send a request of this agent and return the answer."""
        url = urlsplit(self.url)
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=SECONDS)
        credential = base64.b64encode(":".join(self.login).encode()).decode()
        headers = {"Authorization": f"Basic {credential}", "Content-Type": "application/json"}
        try:
            content = None if body is None else json.dumps(body, default=str)
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return Shown(response.status, json.loads(response.read(), parse_float=Decimal))
        finally:
            connection.close()


def card_of(input_type: int, pan: str = PAN, track: str = TRACK) -> Json:
    """Return the card of a request, entered in this way."""
    if input_type == MANUAL:
        data = {"PAN": pan, "EXP": EXPIRY, "CVV2": "123"}
    elif input_type == STRIPE:
        data = {"ReaderType": "MSR", "ReaderData": track.replace(PAN, pan)}
    else:
        data = {"ReaderType": "EMV", "ReaderData": chip_data(pan)}
    return {"CardDataInput": data}


def chip_data(pan: str = PAN) -> str:
    """Return the chip data of a payment, with objects that the service must not send to the host."""
    track = f"{pan}D{EXPIRY_YYMM}201100001230000"
    objects = {
        "57": track + "F" * (len(track) % 2),
        "5F20": b"TEST/CARD".hex(),
        "5F34": "01",
        "84": "A0000000031010",
        "82": "3800",
        "95": "0000008000",
        "9A": "261121",
        "9C": "00",
        "5F2A": "0710",
        "9F02": "000000003000",
        "9F10": "06010A03A00000",
        "9F1A": "0710",
        "9F26": "A1B2C3D4E5F60718",
        "9F27": "80",
        "9F36": "001E",
        "9F37": "1A2B3C4D",
    }
    return "".join(f"{tag}{len(value) // 2:02X}{value}" for tag, value in objects.items()).upper()


def _guid() -> str:
    return str(uuid.uuid4()).upper()
