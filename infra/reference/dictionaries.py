"""The values and meanings of fields that functions check, because pydantic cannot describe those."""

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.domain.guid import GUID_PATTERN
from chalicelib.domain.kinds import KINDS, InputType
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.field_types import PASSWORD_LENGTH, SECRET_KEY_LENGTH
from chalicelib.schemas.merchants import CLIENT_IMPORTANCES, CLIENT_MODES, CLIENT_TYPES
from chalicelib.schemas.terminals import ENTRY_CAPS

INPUT_TYPES = {int(kind): KINDS[kind].name for kind in InputType}
REFERENCES = {error.code: error.name for error in ErrorCode if 561 <= error.code <= 571}  # noqa: PLR2004  see errors.md
DICTIONARIES: Mapping[str, Mapping[Any, str]] = {
    "CardInputMode": {0: "absent", 1: "card data", 2: "linked card"},
    "ClientImportance": CLIENT_IMPORTANCES,
    "ClientMode": CLIENT_MODES,
    "ClientType": CLIENT_TYPES,
    "EntryCaps": ENTRY_CAPS,
    "BasicTran.InputType": INPUT_TYPES | {30: "Payment link: refused with 312", 100: "Recurring: refused with 312"},
    "BasicReverseTran.InputType": {0: "Absent"} | INPUT_TYPES,
    "ListBasicModel.InputType": {0: "Any"}
    | INPUT_TYPES
    | {30: "Payment link: no payment has it", 100: "Recurring: no payment has it"},
    "TransactionView.InputType": INPUT_TYPES,
    "ReverseMode": {
        ReverseMode.CANCEL: "Cancel: before the Deadline, in full (/reverse)",
        ReverseMode.RETURN: "Return: any time while an amount remains (/reverse)",
        ReverseMode.CANCEL_CNP: "Cancel, card not present (/reversecnp)",
        ReverseMode.AUTO_CANCEL: "Automatic cancel: only by the service",
        ReverseMode.RETURN_CNP: "Return, card not present (/reversecnp)",
        ReverseMode.CREDIT_VOUCHER: "Credit voucher: refused with 312",
    },
    "Finding.Code": {check.value: check.name.replace("_", " ").lower() for check in Check}
    | {code: f"{name.replace('_', ' ').lower()}: as the ErrorCode" for code, name in REFERENCES.items()},
    "Finding.Type": {1: "error", 2: "warning: the request continued"},
}
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


def dictionary_of(model: str, field: str) -> Mapping[Any, str]:
    """Return the values of a field and their meanings; none for a field that has no dictionary."""
    return DICTIONARIES.get(f"{model}.{field}") or DICTIONARIES.get(field) or {}


def name_of_value(meaning: str) -> str:
    """Return the name of a value for generated clients: CARD_KEYED_IN for "Card, keyed in", without an explanation."""
    return re.sub(r"[^A-Z0-9]+", "_", re.split(r"[:(]", meaning)[0].upper()).strip("_")
