"""Names without effect: which are refused, which have a warning, which are ignored, and what it costs to judge them."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from chalicelib import exact_json
from chalicelib.endpoints import ENDPOINTS
from chalicelib.errors import ServiceError
from chalicelib.schemas.agents import BulkItem, BulkUpdate, CreateAgent, UpdateAgent
from chalicelib.schemas.base import Request
from chalicelib.schemas.history import ListHistory
from chalicelib.schemas.linked_cards import GetLinkedCards
from chalicelib.schemas.merchants import CreateMerchant
from chalicelib.schemas.misplaced_names import (
    DECIDING,
    MAX_WARNINGS,
    SHORTEST,
    ignored_names,
    is_one_letter_away,
    places_of,
    refused_in_item,
    refused_names,
)
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.schemas.terminals import CreateTerminal
from tests.support import spec_fields
from tests.support.specification import CONTEXT, REQUESTS

MODELS = {endpoint.path: endpoint.body for endpoint in ENDPOINTS if endpoint.method == "POST" and endpoint.body}
OFFLINE = {"OfflineTran": {"OfflineMode": True}}
Named = list[tuple[str, str]]


def refused(model: type[Request], sent: dict[str, Any]) -> Named:
    """Return the path of each refused name, and the place that its message names."""
    return [(one.field, place_in(one.message)) for one in refused_names(model, sent) if (one.type, one.code) == (1, 13)]


def ignored(model: type[Request], sent: dict[str, Any]) -> Named:
    return [(one.field, place_in(one.message)) for one in ignored_names(model, sent) if (one.type, one.code) == (2, 14)]


def place_in(message: str) -> str:
    return message.rpartition(" its place is ")[2].removeprefix("The field is spelt ").split(". ")[0].removesuffix(".")


PURCHASES = "BasicTran.AuxDataInput.AuxData.Purchases"
WRONG: list[tuple[type[Request], dict[str, Any], str, str]] = [
    (SubmitPayment, {"ID": "A", "BasicTran": {}}, "ID", "BasicTran.ID"),
    (SubmitPayment, {"ID": "A", "BasicTran": {"ID": ""}}, "ID", "BasicTran.ID"),
    (SubmitPayment, {"OfflineTran": {"OfflineMode": True}}, "OfflineTran", "BasicTran.OfflineTran"),
    (SubmitPayment, {"BasicTran": {"Receipt": {"Email": "a@b.example"}}}, "BasicTran.Receipt", "Receipt"),
    (SubmitPayment, {"AcqTran": {"CurrencyId": "ZAR"}}, "AcqTran.CurrencyId", "BasicTran.CurrencyID"),
    (SubmitPayment, {"BasicTran": {"AuxData": {"Purchases": [1]}}}, "BasicTran.AuxData.Purchases", PURCHASES),
    (SubmitPayment, {"basic_tran": {"x": 0}}, "basic_tran", "BasicTran"),
    (ReversePayment, {"Amount": 1, "BasicReverseTran": {}}, "Amount", "BasicReverseTran.Amount"),
    (ReversePayment, {"BasicReverseTran": {"Ammount": 1}}, "BasicReverseTran.Ammount", "Amount"),
    (ReversePayment, {"BasicReverseTran": {"PartialRevers": True}}, "BasicReverseTran.PartialRevers", "PartialReverse"),
    (ReversePayment, {"Tran": {"TransactionID": "A"}}, "Tran.TransactionID", "BasicReverseTran.TransactionID"),
    (UpdateAgent, {"Features": {"AcceptCash": True}}, "Features", "MobileSettings.Features"),
    (UpdateAgent, {"Pos": {"SecretKey": "k" * 20}}, "Pos.SecretKey", "SecretKey"),
    (UpdateAgent, {"EndSession": True}, "EndSession", "EndSessions"),
    (CreateAgent, {"Pos": {"Account": {"State": 0}}}, "Pos.Account.State", "State"),
    (ListHistory, {"ExtID": "x", "ListBasicModel": {}}, "ExtID", "ListBasicModel.ExtID"),
    (ListHistory, {"ListBasicModel": {"Period": {"From": "2026-01-01"}}}, "ListBasicModel.Period", "Period"),
    (BulkUpdate, {"State": 0, "PosBulk": [{"Email": "a@b.example"}]}, "State", "PosBulk[].State"),
]


@pytest.mark.parametrize(("model", "sent", "path", "place"), WRONG)
def test_a_deciding_name_at_a_wrong_place_is_refused(
    model: type[Request], sent: dict[str, Any], path: str, place: str
) -> None:
    assert refused(model, sent) == [(path, place)]


def test_of_two_different_values_the_misplaced_one_has_a_warning() -> None:
    assert ignored(SubmitPayment, {"ID": "A", "BasicTran": {"ID": "B"}}) == [("ID", "BasicTran.ID")]
    assert ignored(SubmitPayment, {"ID": "A", "BasicTran": {"ID": "A"}}) == []
    assert refused(SubmitPayment, {"ID": "A", "BasicTran": {"ID": "B"}}) == []


def test_other_known_names_at_a_wrong_place_have_a_warning() -> None:
    sent = {"From": "2026-01-01", "To": "2026-01-31", "DeviceInfo": {"Search": "x"}, "Locations": {"Latitude": 1}}

    assert refused(ListHistory, sent) == []
    assert ignored(ListHistory, sent) == [
        ("From", "Period.From"),
        ("To", "Period.To"),
        ("DeviceInfo.Search", "ListBasicModel.Search"),
        ("Locations.Latitude", "Location.Latitude"),
    ]


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        (SubmitPayment, {"State": 1, "Period": {"From": 1}, "Colour": 1, "BasicTran": {"PartialReverse": True}}),
        (SubmitPayment, {"ID": "", "Receipts": [], "BasicTran": {"Card": {}, "Receipt": {"Email": ""}}}),
        (SubmitPayment, {"BasicTran": {"Amount": 1, "Ammount": 1}}),
        (SubmitPayment, {"BasicTran": {"AmountX2": 1, "IDs": 1}}),
        (SubmitPayment, {"BasicTran": {"AuxDataInput": {"AuxData": {"Purchases": [{"ID": 1, "Tags": [{"ID": 1}]}]}}}}),
        (SubmitPayment, {"Lines": [{"ID": 1, "Amount": 1}], "Sbp": {"ID": 1}, "Fiscal": {"ID": 1}}),
        (UpdateAgent, {name: {"ID": 1, "State": 0} for name in ("ServerFiscalization", "PrinterSettings", "Image")}),
        (ListHistory, {"ListBasicModel": {"Fiscal": {"ID": 1}, "OfflineRequestModel": {"ID": 1}}}),
        (GetLinkedCards, {"Filter": {"State": 0}}),
        (CreateTerminal, {"Sbp": {"State": 1}}),
        (CreateMerchant, {"ImageAvatar": {"State": 1}}),
    ],
)
def test_unknown_names_placeholders_lists_and_free_objects_are_passed_over(
    model: type[Request], sent: dict[str, Any]
) -> None:
    assert (refused(model, sent), ignored(model, sent)) == ([], [])


def test_an_item_of_a_batch_has_its_own_findings() -> None:
    item = {
        "email": 1,
        "SecretKey": "k" * 20,
        "Name": "x",
        "Password": "",
        "Lang": "en",
        "Stat": 0,
        "Pos": {"State": 0},
    }
    found = refused_in_item(BulkItem, item, "PosBulk[1]")

    assert [(one.field, one.code) for one in found] == [
        (f"PosBulk[1].{name}", 13) for name in ("SecretKey", "Name", "Stat", "Pos.State")
    ]
    assert "PosBulk[1].State" in found[-1].message
    assert refused(BulkUpdate, {"PosBulk": [{"Email": "b@b.example"}, item]}) == []
    assert ignored(BulkUpdate, {"PosBulk": [{"Email": "b@b.example"}, item]}) == [("PosBulk[1].Lang", "Lang")]


def test_an_offline_sale_is_refused_only_for_names_that_decide_about_its_money() -> None:
    basic = {"InputType": 10, **OFFLINE, "Card": {"LinkedCardId": 1}, "Amont": 1}
    sent = {"BasicTran": basic, "ID": "A", "Receip": {"Email": "x"}}

    assert refused(SubmitPayment, sent) == [("BasicTran.Amont", "Amount"), ("ID", "BasicTran.ID")]
    assert [path for path, _ in ignored(SubmitPayment, sent)] == ["BasicTran.Card", "Receip", "Receip.Email"]


def test_at_most_twenty_warnings_are_given() -> None:
    sent = {f"Object{number}": {"Lang": "en", "IP": "::1"} for number in range(MAX_WARNINGS)}

    assert len(ignored(SubmitPayment, sent)) == MAX_WARNINGS


@pytest.mark.parametrize("name", sorted(one for one in DECIDING if len(one) >= SHORTEST))
def test_one_letter_more_less_other_or_swapped_is_one_letter_away(name: str) -> None:
    places = range(len(name))
    swapped = {name[:at] + name[at : at + 2][::-1] + name[at + 2 :] for at in places} - {name}
    near = {name[:at] + more + name[at + cut :] for at in (*places, len(name)) for more in ("", "z") for cut in (0, 1)}

    assert all(is_one_letter_away(one, name) for one in (near - {name}) | swapped)
    assert not any(is_one_letter_away(one, name) for one in (name, f"zz{name}", name[2:], f"z{name[2:]}", f"z{name}z"))


def complete(table: dict[str, Any]) -> dict[str, Any]:
    """Return an object with every field of a table of the specification."""
    return {name: value_of(kind) for name, (kind, _) in table.items()}


def value_of(kind: Any) -> Any:
    if isinstance(kind, list):
        return [value_of(kind[0])]
    return complete(kind) if isinstance(kind, dict) else {"Any": 1} if kind == "Object" else "x"


@pytest.mark.parametrize("path", sorted(set(REQUESTS) & set(MODELS)))
def test_no_shape_of_the_specification_is_refused_or_warned_of(path: str) -> None:
    sent = complete({**CONTEXT, **REQUESTS[path]})

    assert (refused(MODELS[path], sent), ignored(MODELS[path], sent)) == ([], [])


@pytest.mark.parametrize("path", MODELS)
def test_no_field_of_the_reference_is_refused_or_warned_of(path: str) -> None:
    sent = complete(spec_fields.REQUESTS.get(path, {}))
    sent |= {other: sent[name] for other, name in MODELS[path].SPELLINGS.items() if name in sent}

    assert (refused(MODELS[path], sent), ignored(MODELS[path], sent)) == ([], [])


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of the service a function runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace if "chalicelib" in frame.f_code.co_filename else None

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def objects(names: Callable[[int], dict[str, Any]], size: int) -> dict[str, Any]:
    return {f"Object{number}": names(number) for number in range(size)}


UNPLEASANT: dict[str, Callable[[type[Request], int], dict[str, Any]]] = {
    "unknown names": lambda _, size: {f"k{number}": 0 for number in range(10 * size)},
    "unknown names in objects": lambda _, size: objects(lambda _: {f"k{number}": 0 for number in range(10)}, size),
    "names that are almost deciding": lambda _, size: {
        f"{name}{chr(256 + n)}": 1 for n in range(size) for name in DECIDING
    },
    "deciding names": lambda _, size: objects(lambda number: dict.fromkeys(DECIDING, number + 1), size),
    "known names": lambda model, size: objects(lambda number: dict.fromkeys(places_of(model), number + 1), size),
    "items": lambda _, size: {
        "PosBulk": [{"Email": "a", "Pos": {"State": 1}, "Stat": 1, "OS": 1} for _ in range(size)]
    },
}


def judge(model: type[Request], sent: dict[str, Any]) -> Iterator[object]:
    yield refused_names(model, sent)
    yield ignored_names(model, sent)
    yield from (refused_in_item(BulkItem, item, "PosBulk[0]") for item in sent.get("PosBulk", ()))


@pytest.mark.parametrize("kind", UNPLEASANT)
@pytest.mark.parametrize("model", [SubmitPayment, ReversePayment, UpdateAgent, BulkUpdate])
def test_four_times_the_names_run_about_four_times_the_lines(kind: str, model: type[Request]) -> None:
    small, large = (UNPLEASANT[kind](model, size) for size in (20, 80))
    list(judge(model, large))  # fills the caches

    few, many = (lines_run(lambda sent=sent: list(judge(model, sent))) for sent in (small, large))  # type: ignore[misc]

    assert many <= 5 * few


def test_an_object_has_at_most_a_thousand_names() -> None:
    most, more = (b'{"x": {%s}}' % b",".join(b'"k%d": null' % n for n in range(count)) for count in (1000, 1001))

    assert exact_json.parse(most) == {"x": {}}
    with pytest.raises(ServiceError, match="more than 1000 names") as refusal:
        exact_json.parse(more)
    assert refusal.value.error.code == 201
