"""The OpenAPI document has every field of the specification, with its type, and says no other is required."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support import spec_fields, specification
from tests.support.specification import A, D, N, O

POS, MERCHANT, PAYMENT = "/api/v1/merchant/{merchantId}/pos", "/api/v1/merchant/{merchantId}", "/api/v1/payment"
SUBMIT, REVERSE, REVERSE_CNP = (f"{PAYMENT}/{name}" for name in ("submit", "reverse", "reversecnp"))
LINE = f"{SUBMIT}.BasicTran.AuxDataInput.AuxData.Purchases[]"
# What differs, by the reason.
DIFFERENCES: dict[str, tuple[str, ...]] = {
    "the contract adds the field": (
        f"{POS}/updatebulk.PosBulk[].BranchesActions is ours",
        *(
            f"{POS}/{{posId}}/update.{name} is ours"
            for name in ("BranchesActions", "EndSessions", "PhoneNull", "TIDNull", "TotpOff")
        ),
        *(f"{MERCHANT}/update.{name} is ours" for name in ("DrawerBlind", "ReceiptNote", "TaxID")),
        *(
            f"Merchant.{name} is ours"
            for name in (
                *("BarcodeScanner", "CashRegisterCuratorID", "ClientMode", "ClientSource", "ContractTypeID"),
                *("DrawerBlind", "MobileSettings", "OriginCuratorID", "ProductSolutionID", "SupportCuratorID"),
                *("ReceiptNote", "TaxID", "TaxSystemID"),
            )
        ),
        f"{SUBMIT}.BasicTran.OfflineTran.OfflineQueueId is ours",
        f"{LINE}.Discount is ours",
        f"{REVERSE}.BasicReverseTran.Description is ours",
        *(f"/api/v1/user/login/session.{name} is ours" for name in ("Code", "Remember")),
        *(f"Pos.{name} is ours" for name in ("Rights", "Sessions", "TerminalID", "TID", "TotpOn")),
        *(
            f"/api/v1/payment/{name}.ListBasicModel.{field} is ours"
            for name in ("listHistoryEx", "listByDaysEx")
            for field in ("Late", "Operation")
        ),
        *(f"MobileSettings.Features.{name} is ours" for name in ("Discounts", "Returns")),
        *(f"Transaction.{name} is ours" for name in ("Received", "TaxAmounts")),
    ),
    "a sample has the field, or misses it": (
        f"{MERCHANT}/update.ID is ours",
        f"{MERCHANT}/update.MobileSettings is ours",
        "/api/v1/terminal/create.Alias is required: False",
    ),
    "the fields without an object are read in both places": tuple(
        f"{SUBMIT}.BasicTran.{name} is ours"
        for name in ("TerminalGroupID", "TerminalGroupCode", "SkipFiscalization", "FiscalRouteProfileCode")
    ),
    "payments and reversals share AcqTran and Receipt, a key of repetition, and the body of both endpoints": (
        *(f"{path}.AcqTran.AllowSwipeOverChip is ours" for path in (REVERSE, REVERSE_CNP)),
        f"{REVERSE}.AcqTran.SingleStepAuthMode is ours",
        *(f"{REVERSE}.Receipt.{name} is ours" for name in ("Emails", "Phones")),
        *(
            f"{REVERSE_CNP}.AcqTran.{name} is ours"
            for name in (
                *("AcquirerCode", "ExternalTerminalID"),
                *("ForceSignatureRequirement", "AdditionalAcquiringFields"),
            )
        ),
        *(f"{path}.BasicReverseTran.ID is ours" for path in (REVERSE, REVERSE_CNP)),
        *(
            f"{REVERSE_CNP}.BasicReverseTran.{name} is ours"
            for name in ("ServiceID", "ClientDateTime", "AuxDataInput", "Description")
        ),
        f"{REVERSE_CNP}.Card is ours",
    ),
    "an amount has cents, and is a number or a text": (
        f"{SUBMIT}.BasicTran.AmountCashGot is Decimal",
        f"{LINE}.Price is Decimal",
        f"{LINE}.Quantity is Decimal",
    ),
    "the spelling of the answer; the request's is read as well": (
        "/api/v1/terminal/create.SelfSevice is missing",
        "/api/v1/terminal/create.SelfService is ours",
    ),
    "the specification has no type, or two": (
        f"answer of {PAYMENT}/AuthAccount.CountryName is String",
        f"answer of {PAYMENT}/prepare.PreparedFields[].Code is String",
    ),
}


def shown_by(kind: Any) -> Any:
    """Return the table behind the name of an object."""
    if isinstance(kind, str) and kind in spec_fields.OBJECTS:
        return {name: (inner, None) for name, inner in spec_fields.OBJECTS[kind].items()}
    return kind


def differences(said: Mapping[str, Any], shown: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, (kind, required) in said.items():
        where = f"{path}.{name}"
        if name not in shown:
            yield f"{where} is missing"
            continue
        found, must = shown[name]
        if required is not None and must is not None and required != must:
            yield f"{where} is required: {must}"
        yield from different_kind(kind, shown_by(found), where)
    yield from (f"{path}.{name} is ours" for name in shown if name not in {*said, *specification.CONTEXT})


def different_kind(kind: Any, found: Any, where: str) -> Iterator[str]:
    if isinstance(kind, list) and isinstance(found, list):
        yield from different_kind(kind[0], shown_by(found[0]), f"{where}[]")
    elif isinstance(kind, dict) and isinstance(found, dict):
        yield from differences(kind, found, where)
    elif kind is not None and not fits(kind, found):
        yield f"{where} is {found}"


def fits(kind: Any, found: Any) -> bool:
    """Return whether a kind may stand where the specification says the other: an object may have fields, say."""
    alike: dict[str, list[Any]] = {
        D: [N],
        N: [D],
        O: [found] if isinstance(found, dict) else [],
        A: [found] if isinstance(found, list) else [],
    }
    return kind == found or (isinstance(kind, str) and found in alike.get(kind, []))


RESOURCES = {
    "Envelope": "Answer",
    "Finding": "Finding",
    "Pos": "PosView",
    "MobileSettings": "MobileSettingsView",
    "Merchant": "MerchantView",
    "Terminal": "TerminalView",
    "Transaction": "TransactionView",
    "TransactionList": "TransactionList",
    "LinkedCard": "LinkedCardView",
    "PaymentOption": "PaymentOptionView",
}


def found_differences() -> set[str]:
    compared = [
        *((path, said, spec_fields.REQUESTS[path]) for path, said in specification.REQUESTS.items()),
        *(
            (f"answer of {path}", said, shown_by(spec_fields.ANSWERS[path]))
            for path, said in specification.ANSWERS.items()
        ),
        *((name, said, shown_by(RESOURCES[name])) for name, said in specification.RESOURCES.items()),
    ]
    return {one for name, said, shown in compared for one in differences(said, shown, name)}


def test_the_reference_differs_from_the_specification_only_where_there_is_a_reason() -> None:
    assert found_differences() == {one for of_a_reason in DIFFERENCES.values() for one in of_a_reason}
