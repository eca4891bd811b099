"""A payer with data in every place that can hold some, and everything that is stored."""

import base64
import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import boto3

from chalicelib.domain.transaction import Transaction
from chalicelib.domain.webhooks import Webhook
from chalicelib.schemas.drawer import ReportDrawer
from chalicelib.services import deliveries, drawers
from chalicelib.services.linked_cards import link
from chalicelib.settings import settings
from chalicelib.store import merchants
from chalicelib.store.table import update, write_one
from infra.operator import commands as operator
from tests.support import events as support_events
from tests.support.builders import JPEG, PNG
from tests.support.cards import PAN, TRACK2, a_card
from tests.support.events import a_stored_hook
from tests.support.receivers import a_receiver
from tests.support.tills import Till, a_till
from tests.support.transactions import a_body

FAR = timedelta(days=400)


def now() -> datetime:
    return datetime.now(UTC)


def a_picture(kind: str, content: bytes) -> dict[str, str]:
    return {"FileType": kind, "FileCode": base64.b64encode(content).decode()}


@dataclass
class Payer:
    """Somebody who paid at a till. Nothing else has these texts."""

    till: Till = field(default_factory=a_till)
    token: str = field(default_factory=lambda: secrets.token_hex(6))
    phone: str = field(default_factory=lambda: f"+2782{secrets.randbelow(10**7):07d}")

    def __post_init__(self) -> None:
        self.email = f"Ann.{self.token}@Payer.example"
        self.other_email = f"Second.{self.token}@payer.example"
        self.name = "PLANTED/" + self.token.translate(str.maketrans("0123456789", "GHIJKLMNOP")).upper()
        self.picture = JPEG + f"picture {self.token}".encode()

    @property
    def merchant(self) -> str:
        return str(self.till.merchant.id)

    @property
    def planted(self) -> list[str]:
        """Return all texts that an erasure removes, in lower case."""
        return [text.lower() for text in (self.token, self.phone.removeprefix("+27"), self.name)]

    @property
    def receipt(self) -> dict[str, Any]:
        return {"Email": self.email, "Emails": [self.other_email], "Phone": self.phone}

    def pay_cash(self, **basic: Any) -> Transaction:
        texts = {
            "Description": f"For {self.email.upper()}, 0{self.phone[3:5]} {self.phone[5:8]} {self.phone[8:]}",
            "ExtID": f"order-{self.email}",
            "ExtTransData": json.dumps({"customer": self.token}),
            "AuxDataInput": {"AuxData": {"Purchases": [{"Title": f"to {self.email}", "Price": "99", "Quantity": "1"}]}},
        }
        files = [a_picture("PHOTO", self.picture)]
        return self.till.pay({**a_body(**{**texts, **basic}), "Receipt": self.receipt, "Files": files}, now())

    def pay_much(self) -> Transaction:
        """Pay with so many lines and texts that they stand in items of their own."""
        lines = [
            {"Title": f"{n} to {self.email}", "Price": "99", "Quantity": "1", "TaxCode": [self.email]}
            for n in range(40)
        ]
        data = json.dumps({"customer": [self.token] * 200})
        return self.pay_cash(Amount="3960", ExtTransData=data, AuxDataInput={"AuxData": {"Purchases": lines}})

    def count(self, note: str) -> None:
        """Open and close a drawer of the till, both with a note."""
        for action, name in (("open", "Float"), ("close", "Counted")):
            body = ReportDrawer.model_validate({"Action": action, name: Decimal(1), "Note": note})
            drawers.report(body, self.till.caller, now())

    def swipe(self, amount: str = "10.00", **parts: Any) -> Transaction:
        track = f"%B{PAN}^{self.name}^30121011000000000123000000?{TRACK2}"
        basic = {"Amount": amount, "CurrencyID": "ZAR", "InputType": 2}
        body = {"BasicTran": basic, "Card": {"CardDataInput": {"ReaderData": track}}, "Receipt": self.receipt}
        return self.till.pay({**body, **parts}, now())

    def send_events_to(self, url: str) -> Webhook:
        """Let the transactions of its merchant make events, and a webhook take them."""
        write_one(update(merchants.key(self.till.merchant.id), {"events_until": now() + FAR}))
        return a_stored_hook(self.till.merchant.id, url, created_at=now() - FAR, on_since=now() - FAR)

    def pay_everywhere(self) -> list[Transaction]:
        """Leave data in every table and object that can hold some; return the payments and reversals."""
        support_events.forget()
        with a_receiver(body=f"thanks {self.email}".encode()) as receiver:
            hook = self.send_events_to(receiver.url)
            cash = self.pay_cash()
            large = self.pay_much()
            returned = self.till.give_back(large, now(), Amount="1.00")
            card = self.swipe()
            offline = {"OfflineMode": True, "Paid": f"{now():%Y-%m-%dT%H:%M:%S}", "Invoice": f"for {self.email}"}
            sold = self.till.pay({"GMT": 0, **a_body(OfflineTran=offline)}, now())
            given = self.till.give_back(sold, now(), Amount="1.00")
            part = self.till.give_back(card, now(), Amount="1.00", Description=f"asked by {self.phone}")
            lost = self.swipe("10.68")
            owing = self.swipe("10.08")
            signed = self.swipe("10.08", Files=[a_picture("SIGNATURE", PNG + self.picture)])
            declined = self.swipe("10.05")
            pending = self.till.give_back(self.swipe(), now(), Amount="5.69")
            self.count(f"Owes {self.email.upper()} a coin")
            linked = link(self.till.agent, replace_name(self.name), "Company card", now())
            by_link = {"LinkedCardId": linked.id, "CardInputMode": 2}
            basic = {"Amount": "10.00", "CurrencyID": "ZAR", "InputType": 5}
            paid_by_link = self.till.pay({"BasicTran": basic, "Card": by_link, "Receipt": self.receipt}, now())
            support_events.deliver_all()
            deliveries.sweep(now(), seconds=0.2)
            assert receiver.calls
        del hook
        boto3.client("s3").put_object(
            Bucket=settings().bucket, Key=f"exports/{self.merchant}/x.csv", Body=self.email.encode()
        )
        original = self.till.look(pending.original.id or "", now())
        large = self.till.look(large.id, now())
        return [
            cash,
            large,
            returned,
            sold,
            given,
            card,
            part,
            lost,
            owing,
            signed,
            declined,
            original,
            pending,
            paid_by_link,
        ]

    def run(self, action: str, *more: str, email: str | None = None) -> None:
        operator.main(["payer", action, "--email", email or self.email, "--merchant", self.merchant, *more])

    def erase(self) -> None:
        """Erase as another process, if there is anything: the permissions of the function that runs do not count."""
        with ThreadPoolExecutor(1) as other:
            try:
                other.submit(self.run, "erase", "--yes").result()
            except SystemExit as ended:
                if not str(ended.code).startswith("Nothing of this payer is found"):
                    raise


def replace_name(name: str) -> Any:
    """Return a card that somebody keys in, as an acquirer that knows the name answers."""
    card = a_card()
    return replace(card, details=replace(card.details, cardholder=name))


def stored() -> dict[str, str]:
    """Return everything in the tables and the bucket, each item and version under its place, in lower case."""
    client, files, bucket = boto3.client("dynamodb"), boto3.client("s3"), settings().bucket
    found: dict[str, str] = {}
    for name in client.list_tables()["TableNames"]:
        keys = _keys(name)
        for page in client.get_paginator("scan").paginate(TableName=name, ConsistentRead=True):
            for item in page["Items"]:
                place = f"{name} {[item[key] for key in keys]}"
                found[place] = json.dumps(item, default=repr, sort_keys=True).lower()
    for versions in files.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for one in versions.get("Versions", []):
            found[f"file {one['Key']} {one['VersionId']}"] = _content(one["Key"], one["VersionId"])
    return found


@cache
def _keys(table: str) -> list[str]:
    described = boto3.client("dynamodb").describe_table(TableName=table)["Table"]
    return [one["AttributeName"] for one in described["KeySchema"]]


@cache
def _content(name: str, version: str) -> str:
    """Return the content of a version of an object, which never changes."""
    stored = boto3.client("s3").get_object(Bucket=settings().bucket, Key=name, VersionId=version)
    return stored["Body"].read().decode("latin-1").lower()


def places_of(texts: list[str]) -> list[str]:
    """Return the places that hold one of the texts."""
    return [place for place, content in stored().items() if any(text in place.lower() + content for text in texts)]
