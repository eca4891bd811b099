"""The parts that an offline sale is read without. Its money was taken, so only a fault in its money refuses it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic_core import ErrorDetails

from chalicelib.domain.kinds import KINDS
from chalicelib.domain.transaction import Warned
from chalicelib.errors import Check, Validation
from chalicelib.schemas.base import Request, finding_of, models_of

GOODS = ("BasicTran", "AuxDataInput")
SHORTENED = "BasicTran.Description"  # a text for people is cut, a reference is left out
MONEY = frozenset(
    ("basictran", *(f"basictran.{name}" for name in ("amount", "currencyid", "inputtype", "id", "offlinetran")))
)
TIME = ("basictran.offlinetran.offlinemode", "basictran.offlinetran.paid")
OFFLINE_TYPES = frozenset(int(number) for number, kind in KINDS.items() if not kind.needs_acquirer)
PART = re.compile(r"[^.\[\]]+|(?<=\[)[0-9]+")

Path = tuple[str | int, ...]


def is_offline_sale(body: Any) -> bool:
    """Return whether the body of payment/submit is an offline sale of a kind that needs no acquirer."""
    basic = body.get("BasicTran") if isinstance(body, dict) else None
    offline = basic.get("OfflineTran") if isinstance(basic, dict) else None
    return (
        isinstance(basic, dict)
        and isinstance(offline, dict)
        and offline.get("OfflineMode") is True
        and isinstance(basic.get("InputType"), int)
        and basic["InputType"] in OFFLINE_TYPES
    )


def without_faults(body: Any, faults: Iterable[ErrorDetails]) -> tuple[Any, list[Warned]]:
    """Return the body without the values with these faults, and a warning for each; no warning for faults of money."""
    found = [(finding_of(detail), detail.get("ctx", {}).get("max_length")) for detail in faults]
    return without(body, [(one, most) for one, most in found if not _is_of_money(one)])


def without(body: Any, findings: Sequence[tuple[Validation, int | None]]) -> tuple[Any, list[Warned]]:
    """Return the body without the values with these findings, and a warning for each.

    A finding has the greatest length of a text that is too long. Items of lists are removed last, so that the paths of
    the others stay right.
    """
    warned = []
    targets: dict[Path, tuple[bool, int | None]] = {}
    for one, most in findings:
        is_known = one.code != Check.SPELLING
        warned.append(Warned(one.field, int(one.code) if is_known else Check.WITHOUT_EFFECT))
        targets[_target(one)] = (is_known, most if one.field == SHORTENED else None)
    for target in sorted(targets, key=lambda path: [(isinstance(part, int), part) for part in path], reverse=True):
        is_known, most = targets[target]
        body = _changed(body, target, most, in_any_spelling=is_known)
    return body, warned


def _is_of_money(fault: Validation) -> bool:
    path = fault.field.lower()
    if _contradicts_goods(fault):
        return False
    return path in MONEY or path.startswith(TIME) or not _target(fault)


def _contradicts_goods(fault: Validation) -> bool:
    return fault.field == "BasicTran.Amount" and fault.code == Check.CONTRADICTION


def _target(fault: Validation) -> Path:
    """Return the path of the value to leave out: the goods as a whole, an item of a list, or an incomplete object."""
    parts: Path = tuple(int(part) if part.isdecimal() else part for part in PART.findall(fault.field))
    if parts[:2] == GOODS or _contradicts_goods(fault):
        return GOODS
    items = [place for place, part in enumerate(parts) if isinstance(part, int)]
    if items:
        return parts[: items[-1] + 1]
    return parts[:-1] if fault.code == Check.REQUIRED else parts


def _changed(value: Any, path: Path, most: int | None, *, in_any_spelling: bool) -> Any:
    """Return a part of the body without the value at a path, or with its text cut to `most` characters."""
    part, *inner = path
    if isinstance(value, list):
        return [
            kept
            for place, one in enumerate(value)
            for kept in (_inside(one, inner, most, in_any_spelling) if place == part else [one])
        ]
    if not isinstance(value, Mapping):
        return value
    changed: dict[str, Any] = {}
    for name, one in value.items():
        is_meant = name == part or (in_any_spelling and _is_spelling(name, str(part)))
        for kept in _inside(one, inner, most, in_any_spelling) if is_meant else [one]:
            changed[name] = kept
    return changed


def _is_spelling(written: str, name: str) -> bool:
    """Return whether a name is another spelling of a field."""
    return (len(written) == len(name) and written.lower() == name.lower()) or (written, name) in _spellings()


@cache
def _spellings() -> frozenset[tuple[str, str]]:
    """Return each other spelling and its field. The models of a payment are imported before the first sale is read."""
    return frozenset(pair for model in models_of(Request) for pair in model.SPELLINGS.items())


def _inside(value: Any, inner: Sequence[str | int], most: int | None, in_any_spelling: bool) -> list[Any]:  # noqa: FBT001
    """Return the changed value, or nothing in place of the value at the end of the path."""
    if inner:
        return [_changed(value, tuple(inner), most, in_any_spelling=in_any_spelling)]
    return [value[:most]] if most is not None and isinstance(value, str) else []
