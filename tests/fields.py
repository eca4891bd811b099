"""The specification's field tables for management, copied by hand: the fields of requests and of answers.

A request's table is name: (type, required); an answer's is name: type. A nested table is an object of its own.
"""

from collections.abc import Mapping
from typing import Any

I, N, S, B, A, O = "Integer", "Number", "String", "Boolean", "Array", "Object"  # noqa: E741  the tables' own words

LOCATION = {"Latitude": (N, True), "Longitude": (N, True)}
DEVICE = (
    "PhoneManufacturer",
    "PhoneModel",
    "DeviceID",
    "DeviceType",
    "AppFramework",
    "OS",
    "OSVersion",
    "AppID",
    "BuildNumber",
)
CONTEXT: dict[str, Any] = {
    "Location": (LOCATION, False),
    "Country": (S, False),
    "CountryCode": (S, False),
    "DeviceInfo": (dict.fromkeys(DEVICE, (S, False)), False),
    "GMT": (I, False),
    "AppFramework": (S, False),
    "Lang": (S, False),
    "IP": (S, False),
    "CurrentAccountID": (I, False),
}
FEATURES = (
    "AcceptCards",
    "AcceptCash",
    "AcceptPrepaid",
    "AcceptCredit",
    "AcceptOuterCard",
    "ShowInventory",
    "RegularPayments",
    "Offline",
    "AsyncCashProcessing",
    "InternalUpdate",
    "AutoLogin",
    "Inherited",
    "ChangeClientLogo",
    "BarcodeScanner",
)
MOBILE_SETTINGS: dict[str, Any] = {
    "Features": (dict.fromkeys(FEATURES, (B, False)), False),
    "MobHomeURL": (S, False),
    "MobHomeURLNull": (B, False),
    "MobQRUrlNull": (B, False),
    "AllowLinkedCards": (I, False),
    "AllowCreditVoucherReverses": (I, False),
    "ServicePayDashboard": (B, False),
    "ServicePayDashboardNull": (B, False),
    "MobileAppPasswordStore": (B, False),
    "BarcodeScanner": (B, False),
    "BarcodeScannerNull": (B, False),
}
PRINTER = {"PrinterID": (I, False), "PrinterCode": (S, False)}

_CREATE_MERCHANT_REQUIRED = {
    "Name": S,
    "Phone": S,
    "FInstID": I,
    "AddressDeFacto": S,
    "ClientManager": {"UserName": (S, True), "UserEmail": (S, True), "UserPhone": (S, True)},
    "Location": LOCATION,
    "Country": S,
    "CountryCode": S,
    "DeviceInfo": dict.fromkeys(DEVICE, (S, True)),
    "GMT": I,
    "AppFramework": S,
    "IP": S,
    "Lang": S,
}
_MERCHANT_OPTIONAL = {
    "AddressDeJure": S,
    "Description": S,
    "Web": S,
    "State": I,
    "ClientSource": S,
    "TaxSystemID": I,
    "SupportCuratorID": I,
    "OriginCuratorID": I,
    "CashRegisterCuratorID": I,
    "ProductSolutionID": I,
    "ContractTypeID": I,
    "ClientMode": I,
    "ClientImportance": I,
    "CurrentAccountID": I,
    "MobileSettings": MOBILE_SETTINGS,
}
CREATE_MERCHANT = (
    {name: (kind, True) for name, kind in _CREATE_MERCHANT_REQUIRED.items()}
    | {name: (kind, False) for name, kind in _MERCHANT_OPTIONAL.items()}
    | {
        "SendWelcomeEmail": (B, False),
        "HunterID": (I, False),
        "ClientType": (I, False),
        "TaxID": (S, False),
        "ImageAvatar": (O, False),
        "Sbp": (O, False),
    }
)
UPDATE_MERCHANT = (
    {
        name: (kind, True)
        for name, kind in _CREATE_MERCHANT_REQUIRED.items()
        if name not in {"FInstID", "ClientManager", "DeviceInfo"}
    }
    | {name: (kind, False) for name, kind in _MERCHANT_OPTIONAL.items()}
    | {
        "DeviceInfo": (dict.fromkeys(DEVICE, (S, False)), True),
        "BarcodeScanner": (B, False),
        "Image": (O, False),
        "ID": (I, False),
    }
)
CREATE_AGENT = CONTEXT | {
    "Name": (S, True),
    "Email": (S, True),
    "Phone": (S, True),
    "BranchID": (I, True),
    "ClientID": (I, True),
    "TerminalID": (I, False),
    "TID": (S, False),
    "State": (I, False),
    "Password": (S, False),
    "SecretKey": (S, False),
    "AddressDeFacto": (S, False),
    "SendWelcomeEmail": (B, False),
    "BranchesActions": (A, False),
    "AccountType": (I, False),
    "ImageAvatar": (O, False),
    "MobileSettings": (MOBILE_SETTINGS, False),
    "PrinterSettings": (O, False),
    "PrinterAndTaxSettings": (PRINTER, False),
}
UPDATE_AGENT = CONTEXT | {
    "ID": (I, False),
    "Name": (S, False),
    "Email": (S, False),
    "Phone": (S, False),
    "TerminalID": (I, False),
    "TID": (S, False),
    "State": (I, False),
    "Password": (S, False),
    "AddressDeFacto": (S, False),
    "CountryID": (S, False),
    "CurrencyID": (S, False),
    "LanguageID": (S, False),
    "Unlock": (B, False),
    "SecretKey": (S, False),
    "TaxID": (S, False),
    "UserKindID": (I, False),
    "Image": (O, False),
    "MobileSettings": (MOBILE_SETTINGS, False),
    "ServerFiscalization": (O, False),
    "PrinterAndTaxSettings": (PRINTER, False),
    "PrinterSettings": (O, False),
    "AcquirersSettings": (O, False),
}
UPDATE_BULK = CONTEXT | {"PosBulk": (A, True)}
CREATE_TERMINAL = {
    name: (kind, True)
    for name, kind in {
        "BranchID": I,
        "Name": S,
        "SIC": S,
        "Title": S,
        "Currency": S,
        "Country": S,
        "City": S,
        "Location": S,
        "EntryCaps": S,
        "RegionCode": S,
        "CountryCode": S,
        "DeviceInfo": dict.fromkeys(DEVICE, (S, False)),
    }.items()
} | {
    name: (kind, False)
    for name, kind in {
        "Alias": S,  # required in the table, missing in the sample
        "TerminalGroupID": I,
        "TerminalGroupCode": S,
        "Phone": S,
        "State": I,
        "Description": S,
        "Class": S,
        "BackRetailerID": S,
        "Owner": S,
        "Region": S,
        "Branch": S,
        "ZIP": S,
        "TimeOffset": S,
        "ContactlessCapable": S,
        "SelfSevice": S,
        "Type": S,
        "Latitude": N,
        "Longitude": N,
        "WithAccounts": B,
        "ForAccount": B,
        "CurrentAccountID": I,
        "Sbp": O,
        "IP": S,
        "Lang": S,
    }.items()
}

ENVELOPE = {"ErrorCode": I, "ErrorMessage": S, "Validations": A}
POS = {
    "ID": I,
    "State": I,
    "AccountTypeID": I,
    "Name": S,
    "Email": S,
    "Phone": S,
    "SecretKey": S,
    "Logon": {"LastLogon": S, "FailedAttempts": I, "LockedUntil": S},
    "AvatarUrl": S,
    "HasAvatar": B,
    "IsAdministrator": B,
    "IsSystemUser": B,
    "Deleted": B,
    "CountryID": S,
    "CurrencyID": S,
    "FInstID": I,
    "ClientID": I,
    "MobileSettings": {
        "Features": dict.fromkeys(FEATURES, B),
        **{name: kind for name, (kind, _) in MOBILE_SETTINGS.items() if name != "Features"},
        "MobQRUrl": S,
        "MobQRUrlEffective": S,
        "MobHomeURLEffective": S,
        "AllowLinkedCardsEffective": I,
        "ServicePayDashboardEffective": B,
        "AllowCreditVoucherReversesEffective": I,
        "BarcodeScannerEffective": B,
    },
    "PrinterAndTaxSettings": {"PrinterID": I, "PrinterCode": S, "PrinterIDEffective": I, "PrinterCodeEffective": S},
}
MERCHANT = {
    "ID": I,
    "ClientID": I,
    "State": I,
    "AccountTypeID": I,
    "AccountType": I,
    "BranchID": I,
    "FInstID": I,
    "FInstName": S,
    "Name": S,
    "LegalName": S,
    "ClientName": S,
    "Email": S,
    "Phone": S,
    "Web": S,
    "Description": S,
    "TerminalID": I,
    "CurrencyID": S,
    "LanguageID": S,
    "CountryID": S,
    "Avatar": B,
    "HasAvatar": B,
    "AvatarUrl": S,
    "AddressDeJure": S,
    "AddressDeFacto": S,
    "ProductDescCount": I,
    "ProductDescActiveCount": I,
    "ProductDescActiveAcceptPaymentCount": I,
    "ProductDescActiveScheduleCount": I,
    "Deleted": B,
    "ReceiptSkipHeader": B,
    "ClientImportance": I,
    "Sbp": O,
}
TERMINAL = {
    "ID": I,
    "Alias": S,
    "Name": S,
    "Title": S,
    "FinstID": I,
    "ClientID": I,
    "BranchID": I,
    "BranchName": S,
    "Branch": S,
    "SIC": S,
    "Location": S,
    "City": S,
    "ZIP": S,
    "Region": S,
    "Owner": S,
    "Class": S,
    "Type": S,
    "Description": S,
    "Phone": S,
    "TimeOffset": S,
    "BackRetailerID": S,
    "Currency": S,
    "Country": S,
    "RegionCode": S,
    "EntryCaps": S,
    "Latitude": N,
    "Longitude": N,
    "ContactlessCapable": S,
    "SelfService": S,
    "State": I,
    "GroupID": I,
    "Sbp": O,
    # The sample's further fields; the specification gives them no types.
    "Selected": B,
    "PosCount": I,
    "Accounts": A,
    "SettleStatus": I,
    "Settled": S,
    "SettleTry": I,
    "CanStartSettlement": B,
    "TMK": S,
    "TMKKCV": S,
    "VN_OCEAN_TID": S,
    "VN_OCEAN_PSW": S,
    "CanExport": B,
    "ProccessTry": I,
    "ProcessStatus": I,
    "ProcessCreateSuccess": B,
    "DirectPosCount": I,
    "IsCarousel": B,
}
COUNTERS = {"Pagesize": I, "ItemCountPage": I, "ItemCountTtl": I, "PageCount": I}

# Fields that never have a value in this service; the reference says why. Every other documented field has one when a
# request fills everything in.
ALWAYS_NULL = {
    "ErrorMessage",
    "Validations",
    "AccountTypeID",  # of a merchant: its codes are not shown
    "AccountType",
    "FInstName",
    "TerminalID",
    "LastLogon",
    "LockedUntil",
    "Accounts",
    "Settled",
    "TMK",
    "TMKKCV",
    "VN_OCEAN_TID",
    "VN_OCEAN_PSW",
}


def faults(shown: Mapping[str, Any], table: Mapping[str, Any], path: str = "") -> list[str]:
    """Return each field of the table that is missing from an answer, or has another type there, by name."""
    found = []
    for name, kind in table.items():
        if name not in shown:
            found.append(f"{path}{name} is missing")
            continue
        value = shown[name]
        if value is None:
            if name not in ALWAYS_NULL:
                found.append(f"{path}{name} is null")
        elif isinstance(kind, dict):
            found += faults(value, kind, f"{path}{name}.")
        elif kind_of(value) != kind and (kind, kind_of(value)) != (N, I):
            found.append(f"{path}{name} is {kind_of(value)}, not {kind}")
    return found


def kind_of(value: object) -> str:
    """Return the specification's word for the type of a JSON value."""
    words = ((bool, B), (int, I), (str, S), (list, A), (dict, O))
    return next((word for kind, word in words if isinstance(value, kind)), N)


def paths(table: Mapping[str, Any], path: str = "") -> list[tuple[str, Any, bool]]:
    """Return every field of a request's table, nested ones included: path, type, and whether it is required."""
    found = []
    for name, (kind, required) in table.items():
        found.append((path + name, O if isinstance(kind, dict) else kind, required))
        if isinstance(kind, dict):
            found += [(inner, what, required and must) for inner, what, must in paths(kind, f"{path}{name}.")]
    return found
