"""Builders of payments: valid ones, of which a test changes its subject."""

import uuid
from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from chalicelib.domain.business_days import end_of_day
from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.payment import PaymentOrder
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import AgentSnapshot, MerchantSnapshot, Particulars, Result, Transaction

NOW = datetime(2026, 3, 14, 9, 26, 53, 589793, tzinfo=UTC)
ZAR = Currency("ZAR", "710", 2)
# The fields of groups, as attributes of the store. A name that no other field has stands for itself: `rrn`.
GROUPED = {
    name: (group.name, field.name)
    for group in fields(Transaction)
    if group.metadata.get("inline")
    for field in fields(group.default_factory)  # type: ignore[arg-type]  # it is the class of the group
    for name in (f"{group.name}_{field.name}", field.name)
    if name not in {one.name for one in fields(Transaction)}
}


def a_guid() -> str:
    return str(uuid.uuid4()).upper()


def a_payment(**changes: Any) -> Transaction:
    """R 12.30 in cash, just taken."""
    facts: dict[str, Any] = {
        "id": a_guid(),
        "client_id": 7,
        "agent": AgentSnapshot(17, "till@shop.example", "Till 1", "+27 82 987 6543"),
        "terminal_id": 3,
        "terminal_name": "SHOP0001",
        "phase": Phase.APPROVED,
        "input_type": InputType.CASH,
        "acquirer": "CASH",
        "currency": ZAR,
        "amount_minor": 1230,
        "created_at": NOW,
        "deadline": end_of_day(NOW, 2),
        "gmt": 2,
        "fingerprint": "f",
        "invoice": "260314000001",
        "merchant": MerchantSnapshot("Bean & Leaf", "12 Long Street", "+27 82 987 6543"),
        "result": Result(code=0, message="Approved"),
    }
    return altered(Transaction(**facts), **changes)


def altered(transaction: Transaction, **facts: Any) -> Transaction:
    """Return the transaction with other facts, each named as its attribute in the store, or as its field in a group."""
    groups: dict[str, dict[str, Any]] = {}
    for name in list(facts):
        if name in GROUPED:
            group, field = GROUPED[name]
            groups.setdefault(group, {})[field] = facts.pop(name)
    for group, values in groups.items():
        facts[group] = replace(getattr(transaction, group), **values)
    return replace(transaction, **facts)


def an_order(**changes: Any) -> PaymentOrder:
    """Return the order a_payment was made of."""
    facts: dict[str, Any] = {
        "id": a_guid(),
        "input_type": InputType.CASH,
        "amount": Decimal("12.30"),
        "currency": "ZAR",
        "acquirer": "CASH",
    }
    names = {field.name for field in fields(Particulars)} & changes.keys()
    particulars = Particulars(**{name: changes.pop(name) for name in names})
    return PaymentOrder(**{**facts, "particulars": particulars, **changes})


def a_body(**basic: Any) -> dict[str, Any]:
    """The smallest body of payment/submit that takes R 12.30 in cash; a null leaves a field out."""
    return {
        "BasicTran": {"ID": a_guid(), "InputType": 10, "CurrencyID": "ZAR", "Amount": 12.3, **basic},
        "AcqTran": {"AcquirerCode": "CASH"},
    }
