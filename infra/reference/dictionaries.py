"""The values and meanings of fields that functions check, because pydantic cannot describe those.

A key names the models and the field: "TerminalView|UpdateTerminal|CreateTerminal.EntryCaps".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.domain import drawer
from chalicelib.domain.acquirer import MESSAGES
from chalicelib.domain.agent import ACCOUNT_AGENT, ACCOUNT_USER, ACTIVE, BLOCKED
from chalicelib.domain.card import CARD_ACTIVE, CARD_BLOCKED, CREATED, FAILED, IN_VERIFICATION, LINK_TYPE, VERIFIED
from chalicelib.domain.deliveries import DeliveryState
from chalicelib.domain.events import PING, Kind
from chalicelib.domain.guid import GUID_PATTERN
from chalicelib.domain.kinds import KINDS, InputType
from chalicelib.domain.permissions import Right
from chalicelib.domain.phases import DEPOSITED, REVERSED_IN_FULL, SHOWN
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.errors import ERROR, WARNING, Check, ErrorCode
from chalicelib.schemas.field_types import PASSWORD_LENGTH, SECRET_KEY_LENGTH
from chalicelib.schemas.history import PAYMENTS, REVERSALS
from chalicelib.schemas.merchants import CLIENT_IMPORTANCES, CLIENT_MODES, CLIENT_TYPES
from chalicelib.schemas.terminals import ENTRY_CAPS
from chalicelib.schemas.transaction_view import DECLINED, OPERATIONS
from infra.reference import by_model


def words(name: str) -> str:
    """Return the name of a constant in words: "not in dictionary" for NOT_IN_DICTIONARY."""
    return name.replace("_", " ").lower()


def _shown(attribute: str) -> dict[Any, str]:
    """Return the values of State, Substate, Status or DisplayMode, with the states in words that each one shows."""
    texts: defaultdict[Any, dict[str, None]] = defaultdict(dict)
    for shown in (*SHOWN.values(), REVERSED_IN_FULL):
        texts[getattr(shown, attribute)][shown.text.lower()] = None
    return {value: ", or ".join(texts[value]) for value in sorted(texts)}


REFERENCES = [error for error in ErrorCode if error.name.endswith(("_NOT_FOUND", "_TAKEN"))]  # of fields, in findings
INPUT_TYPES = {int(kind): KINDS[kind].name for kind in InputType}
STATES = {BLOCKED: "blocked", ACTIVE: "active"}
EVENT_KINDS = dict.fromkeys(map(str, Kind), "")
TRANSACTION_STATES, TRANSACTION_SUBSTATES = _shown("state"), _shown("substate")
REVERSE_MODES = {
    ReverseMode.CANCEL: "Cancel: before the Deadline, in full (/reverse)",
    ReverseMode.RETURN: "Return: any time while an amount remains (/reverse)",
    ReverseMode.CANCEL_CNP: "Cancel, card not present (/reversecnp)",
    ReverseMode.AUTO_CANCEL: "Automatic cancel: only by the service",
    ReverseMode.RETURN_CNP: "Return, card not present (/reversecnp)",
    ReverseMode.CREDIT_VOUCHER: "Credit voucher: refused with 312",
}
DICTIONARIES: Mapping[tuple[str, str], Mapping[Any, str]] = by_model({
    "PaymentAnswer|ReversalAnswer.ErrorCode": {
        0: "approved",
        ErrorCode.OUTCOME_UNKNOWN.code: words(ErrorCode.OUTCOME_UNKNOWN.name),
        **{DECLINED + code: message for code, message in MESSAGES.items() if code},
    },
    "Refusal.ErrorCode": {error.code: words(error.name) for error in ErrorCode if error.status != 200},  # noqa: PLR2004  HTTP
    "Finding.Code": {check.value: words(check.name) for check in Check}
    | {error.code: f"{words(error.name)}: as the ErrorCode" for error in REFERENCES},
    "Finding.Type": {ERROR: "error", WARNING: "warning: the request continued"},
    "Card.CardInputMode": {0: "absent", 1: "card data", 2: "linked card"},
    "CreateMerchant|MerchantView|UpdateMerchant.ClientImportance": CLIENT_IMPORTANCES,
    "CreateMerchant|MerchantView|UpdateMerchant.ClientMode": CLIENT_MODES,
    "CreateMerchant.ClientType": CLIENT_TYPES,
    "TerminalView|UpdateTerminal|CreateTerminal.EntryCaps": ENTRY_CAPS,
    "MerchantView.AccountType": {ACCOUNT_USER: "user"},
    "MerchantView|PosView.AccountTypeID": {ACCOUNT_USER: "user", ACCOUNT_AGENT: "agent"},
    "IdentityView|PosView.Rights": {right.value: words(right.name) for right in Right},
    "BulkItem|CreateAgent|CreateMerchant|CreateTerminal|ListAgents|ListMerchants|ListTerminals|UpdateAgent"
    "|UpdateMerchant|UpdateTerminal|UpdateWebhook|MerchantView|PosView|TerminalView|WebhookView.State": STATES,
    "LinkedCardView.State": {CARD_ACTIVE: "active", CARD_BLOCKED: "blocked or deleted"},
    "LinkedCardView.Status": {
        CREATED: "created", IN_VERIFICATION: "in verification", VERIFIED: "verified", FAILED: "error",
    },
    "LinkedCardView|PaidCardView.LinkType": {LINK_TYPE: "the only type"},
    "BasicTran.InputType": INPUT_TYPES | {30: "Payment link: refused with 312", 100: "Recurring: refused with 312"},
    "BasicReverseTran.InputType": {0: "Absent"} | INPUT_TYPES,
    "ListBasicModel.InputType": {0: "Any"}
    | INPUT_TYPES
    | {30: "Payment link: no payment has it", 100: "Recurring: no payment has it"},
    "EventData|TakingView|TransactionView.InputType": INPUT_TYPES,
    "PaymentOptionView.Id": INPUT_TYPES,
    "TransactionView.ReverseCPInputTypes": {
        int(kind): one.name for kind, one in sorted(KINDS.items()) if one.card_present
    },
    "ListBasicModel.Operation": {PAYMENTS: "payments", REVERSALS: "cancels and returns"},
    "TransactionView.Operation": {name.capitalize(): "" for name in OPERATIONS},
    "TransactionView.OperationID": {number: name for name, number in OPERATIONS.items()},
    "BasicReverseTran.ReverseMode": REVERSE_MODES,
    "TransactionView.ReverseMode": REVERSE_MODES,
    "TransactionView.DisplayMode": _shown("display_mode"),
    "EventData|EventView|PublicStatus|TransactionView.State": TRANSACTION_STATES,
    "EventData|EventView|PublicStatus|TransactionView.Substate": TRANSACTION_SUBSTATES,
    "PublicStatus|TransactionView.Status": _shown("status") | {DEPOSITED: "paid or given back, after the Deadline"},
    "CreateWebhook|UpdateWebhook|WebhookView.Types": EVENT_KINDS,
    "ListEvents.Types": EVENT_KINDS | {PING: ""},
    "EventView.Type": EVENT_KINDS | {PING: ""},
    "EventBody.type": EVENT_KINDS,
    "PingBody.type": {PING: ""},
    "DeliveryView.State": dict.fromkeys(map(str, DeliveryState), ""),
    "MovementView.Kind": {
        drawer.OPEN: "the float", drawer.PAID_IN: "paid in", drawer.PAID_OUT: "paid out", drawer.CLOSE: "the count",
        drawer.NOTE: "a note",
    },
})  # fmt: skip
AGENTS = ("CreateAgent", "UpdateAgent", "BulkItem")
SECRETS = {
    name: {"minLength": shortest, "maxLength": longest}
    for name, (shortest, longest) in {"Password": PASSWORD_LENGTH, "SecretKey": SECRET_KEY_LENGTH}.items()
}
CHECKED: Mapping[str, Mapping[str, Any]] = {
    "ListBasicModel.ID": {"pattern": f"^{GUID_PATTERN}$"},
    **{f"{agent}.{secret}": length for agent in AGENTS for secret, length in SECRETS.items()},
    "Image.Data": {"minLength": 8},
    "PictureFile.FileCode": {"minLength": 8},
}


def dictionary_of(models: Iterable[str], field: str) -> Mapping[Any, str]:
    """Return the values of a field and their meanings, by the first of the models; none without a dictionary."""
    return next((DICTIONARIES[model, field] for model in models if (model, field) in DICTIONARIES), {})


def name_of_value(meaning: str) -> str:
    """Return the name of a value for generated clients: CARD_KEYED_IN for "Card, keyed in", without an explanation."""
    return re.sub(r"[^A-Z0-9]+", "_", re.split(r"[:(]", meaning)[0].upper()).strip("_")
