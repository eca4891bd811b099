"""The specification's field tables, copied by hand: the fields of every request and of every answer.

A request's table is name: (type, required), an answer's is name: type. A type is one of the tables' words, a table of
its own, or a list of one of them; in an answer also the name of an object of OBJECTS. What the specification leaves
without a type, or names "not shown", has the type it has here.
"""

from typing import Any

I, N, D, S, B = "Integer", "Number", "Decimal", "String", "Boolean"  # noqa: E741  the tables' own words
A, O = "Array", "Object"  # noqa: E741  of what the specification does not describe further

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
        "TaxID": (S, False),  # ours: contract, section 15
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
    "BranchesActions": ([{"BranchID": (I, True), "Actions": ([I], True)}], False),
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
    "EndSessions": (B, False),  # ours: contract, section 13
    "PhoneNull": (B, False),  # ours: contract, section 6
    "TIDNull": (B, False),
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
UPDATE_BULK = CONTEXT | {
    "PosBulk": ([{"Email": (S, True), "State": (I, False), "PrinterAndTaxSettings": (PRINTER, False)}], True)
}
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

RECEIPT = {
    "Email": (S, False),
    "Emails": ([S], False),
    "Phone": (S, False),
    "Phones": ([S], False),
    "RetryNum": (I, False),
}
CARD_INPUT = {"EXP": S, "CVV2": S, "PAN": S, "ReaderType": S, "ReaderData": S}
CARD = {
    "CardInputMode": (I, False),
    "CardDataInput": ({name: (kind, False) for name, kind in CARD_INPUT.items()}, False),
    "LinkedCardId": (I, False),  # also LinkedCardID
}
PURCHASE = {
    "Title": (S, True),
    "Price": (S, True),
    "Quantity": (S, True),
    "TaxCode": ([S], False),
    "Tags": (A, False),
}
AUX_DATA_INPUT = {"AuxData": ({"Purchases": ([PURCHASE], False)}, False)}
CUSTOM_FIELD = {"FieldDescID": (I, False), "FieldCode": (S, False), "TextSelect": (S, False)}
PRODUCT = {"ProductDescID": (I, False), "ProductCode": (S, False), "Fields": ([CUSTOM_FIELD], False)}
OFFLINE_TRAN = {
    "OfflineMode": (B, False),
    "Invoice": (S, False),
    "Paid": (S, False),
    "OfflineLocation": (LOCATION, False),
    "OfflineQueueId": (S, False),  # ours: the Transaction object answers it; also a whole number
}
# The fields of BasicTran that are carried through under one name, each with the value that a test sends and reads back.
CARRIED = {"Description": "Two coffees"}
BASIC_TRAN: dict[str, Any] = dict.fromkeys(CARRIED, (S, False)) | {
    "InputType": (I, True),
    "CurrencyID": (S, False),
    "ServiceID": (S, False),
    "Amount": (D, True),
    "ExtID": (S, False),
    "AmountCashGot": (D, False),  # "Integer"; with cents it is the same field
    "ClientDateTime": (S, False),
    "ExtTransData": (S, False),  # also ExtTranData
    "ID": (S, False),
    "AuxDataInput": (AUX_DATA_INPUT, False),
    "CPFData": ({"ProductsCustomFields": ([PRODUCT], False)}, False),
    "OfflineTran": (OFFLINE_TRAN, False),
}
REVERSAL_ACQ_TRAN = {
    "AcquirerCode": (S, False),
    "ExternalTerminalID": (S, False),
    "ForceSignatureRequirement": (B, False),
    "AdditionalAcquiringFields": (S, False),
}
ACQ_TRAN = REVERSAL_ACQ_TRAN | {"SingleStepAuthMode": (B, False), "AllowSwipeOverChip": (B, False)}
SUBMIT: dict[str, Any] = CONTEXT | {
    "BasicTran": (BASIC_TRAN, True),
    "AcqTran": (ACQ_TRAN, False),
    "TaxesModel": ({"Taxes": ([S], False), "Code": (S, False)}, False),
    "Receipt": (RECEIPT, False),
    "Card": (CARD, False),
    "Files": ([{"FileType": (S, True), "FileCode": (S, True)}], False),
    "TerminalGroupID": (I, False),
    "TerminalGroupCode": (S, False),
    "SkipFiscalization": (B, False),
    "FiscalRouteProfileCode": (S, False),
    "ClientProductCode": (S, False),
    "ServerBuildNumber": (S, False),
    "UserAgent": (S, False),
}
PREPARE: dict[str, Any] = CONTEXT | {
    "PrepareFields": ([{"Name": (S, True), "Value": (S, True)}], True),
    "ProductDescCode": (S, True),
    "ClientProductCode": (S, False),
}
BASIC_REVERSE_TRAN_CNP: dict[str, Any] = {
    "InputType": (I, False),
    "CurrencyID": (S, False),  # also CurrencyId
    "Amount": (D, False),
    "PartialReverse": (B, False),
    "ReverseMode": (I, True),
    "TransactionID": (S, True),
    "Description": (S, False),  # ours: the reason
}
BASIC_REVERSE_TRAN: dict[str, Any] = BASIC_REVERSE_TRAN_CNP | {
    "ServiceID": (S, False),
    "ClientDateTime": (S, False),
    "AuxDataInput": (AUX_DATA_INPUT, False),
}
REVERSE: dict[str, Any] = CONTEXT | {
    "Receipt": ({name: RECEIPT[name] for name in ("Email", "Phone", "RetryNum")}, False),
    "AcqTran": (REVERSAL_ACQ_TRAN, False),
    "BasicReverseTran": (BASIC_REVERSE_TRAN, True),
    "Card": (CARD, False),
}
REVERSE_CNP: dict[str, Any] = {
    "Location": (LOCATION, False),
    "DeviceInfo": CONTEXT["DeviceInfo"],
    "IP": (S, False),
    "Receipt": REVERSE["Receipt"],
    "AcqTran": (REVERSAL_ACQ_TRAN | {"SingleStepAuthMode": (B, False)}, False),
    "BasicReverseTran": (BASIC_REVERSE_TRAN_CNP, True),
}
LIST_BASIC_MODEL = {
    "Search": (S, False),
    "AccountID": (I, False),
    "Sort": (S, False),
    "ID": (S, False),
    "Invoice": (S, False),
    "InvoiceOriginal": (S, False),
    "RRN": (S, False),
    "InputType": (I, False),
    "AcquirerCode": (S, False),
    "ExtID": (S, False),
    "Fiscal": (O, False),
    "OfflineRequestModel": (O, False),
    "Page": (I, False),
}
LIST_HISTORY: dict[str, Any] = {
    "Period": ({"To": (S, False), "From": (S, False)}, False),
    "ListBasicModel": (LIST_BASIC_MODEL, False),
    "ClientProductCode": (S, False),
    "Location": (LOCATION, False),
    "DeviceInfo": CONTEXT["DeviceInfo"],
}
# Ours: contract, sections 12 and 14.
BOOK_ACCOUNTS = dict.fromkeys(
    ("Sales", "Returns", "Cash", "Clearing", "Receivable", "Prepaid", "Tax", "TaxRate"), (S, False)
)
EXPORT_HISTORY: dict[str, Any] = LIST_HISTORY | {"Format": (S, False), "Accounts": (BOOK_ACCOUNTS, False)}
GET_LINKED_CARDS: dict[str, Any] = CONTEXT | {
    "AccountId": (I, False),
    "State": (I, False),
    "Status": (I, False),
    "Deleted": (I, False),
    "Page": (I, False),
}
AUTH_ACCOUNT = {"CurrentAccountID": (I, False), "Lang": (S, False), "IP": (S, False)}
SIGN_IN = {"Email": (S, True), "Password": (S, True), "Remember": (B, False)}
# Ours: contract, section 11.
CREATE_WEBHOOK: dict[str, Any] = {"Url": (S, True), "Types": ([S], False), "Description": (S, False)}
UPDATE_WEBHOOK: dict[str, Any] = {
    "Url": (S, False),
    "Types": ([S], False),
    "State": (I, False),
    "Description": (S, False),
    "RotateSecret": (B, False),
}
LIST_EVENTS: dict[str, Any] = {
    "Period": ({"To": (S, False), "From": (S, False)}, False),
    "Types": ([S], False),
    "Page": (I, False),
}
# Ours: contract, section 15.
PRICE_LIST: dict[str, Any] = {
    "Version": (I, True),
    "Taxes": ([{"Code": (S, True), "Name": (S, True), "Rate": (D, True)}], False),
    "Items": (
        [
            {
                "Code": (S, True),
                "Title": (S, True),
                "Price": (D, False),
                "Unit": (S, False),
                "TaxCode": (S, False),
                "Group": (S, False),
                "Barcode": (S, False),
                "Active": (B, False),
            }
        ],
        False,
    ),
}
RESEND_EVENT: dict[str, Any] = {"WebhookID": (I, False)}
LIST_AGENTS: dict[str, Any] = {"Email": (S, False), "Search": (S, False), "State": (I, False), "Page": (I, False)}
LIST_TERMINALS = {name: LIST_AGENTS[name] for name in ("Search", "State", "Page")}  # ours

TAKINGS: dict[str, Any] = CONTEXT | {
    "Period": LIST_HISTORY["Period"],
    "AccountID": (I, False),
    "By": (S, False),
}  # ours
LIST_DRAWERS: dict[str, Any] = CONTEXT | {"Day": (S, False), "AccountID": (I, False)}  # ours
DRAWER: dict[str, Any] = LIST_DRAWERS | {
    "AgentID": (I, False),
    "Float": (D, False),
    "Counted": (D, False),
    "Note": (S, False),
}  # ours

SEND_RECEIPT: dict[str, Any] = CONTEXT | {
    "Email": (S, False),
    "Emails": ([S], False),
    "Phone": (S, False),
    "Phones": ([S], False),
}  # ours

REQUESTS: dict[str, dict[str, Any]] = {
    "/api/v1/user/login/session": SIGN_IN,
    "/api/v1/payment/AuthAccount": AUTH_ACCOUNT,
    "/api/v1/merchant/create": CREATE_MERCHANT,
    "/api/v1/merchant/{merchantId}/update": UPDATE_MERCHANT,
    "/api/v1/merchant/{merchantId}/pos/create": CREATE_AGENT,
    "/api/v1/merchant/{merchantId}/pos/{posId}/update": UPDATE_AGENT,
    "/api/v1/merchant/{merchantId}/pos/updatebulk": UPDATE_BULK,
    "/api/v1/merchant/{merchantId}/pos/list": LIST_AGENTS,
    "/api/v1/merchant/{merchantId}/terminal/list": LIST_TERMINALS,
    "/api/v1/merchant/{merchantId}/pricelist/update": PRICE_LIST,
    "/api/v1/merchant/{merchantId}/webhook/create": CREATE_WEBHOOK,
    "/api/v1/merchant/{merchantId}/webhook/list": {},
    "/api/v1/merchant/{merchantId}/webhook/{webhookId}/update": UPDATE_WEBHOOK,
    "/api/v1/merchant/{merchantId}/webhook/{webhookId}/delete": {},
    "/api/v1/merchant/{merchantId}/webhook/{webhookId}/test": {},
    "/api/v1/merchant/{merchantId}/event/list": LIST_EVENTS,
    "/api/v1/merchant/{merchantId}/event/{eventId}/resend": RESEND_EVENT,
    "/api/v1/terminal/create": CREATE_TERMINAL,
    "/api/v1/payment/submit": SUBMIT,
    "/api/v1/payment/prepare": PREPARE,
    "/api/v1/payment/receipt/{tranId}": SEND_RECEIPT,
    "/api/v1/payment/listHistoryEx": LIST_HISTORY,
    "/api/v1/payment/listByDaysEx": LIST_HISTORY,
    "/api/v1/report/export": EXPORT_HISTORY,
    "/api/v1/payment/reverse": REVERSE,
    "/api/v1/payment/reversecnp": REVERSE_CNP,
    "/api/v1/payment/GetLinkedCards": GET_LINKED_CARDS,
    "/api/v1/report/takings": TAKINGS,
    "/api/v1/report/drawer": DRAWER,
    "/api/v1/report/drawer/list": LIST_DRAWERS,
}

FINDING = {"Type": I, "Property": S, "Code": I, "Message": S}
ENVELOPE: dict[str, Any] = {"ErrorCode": I, "ErrorMessage": S, "Validations": [FINDING]}
POS = {
    "ID": I,
    "State": I,
    "AccountTypeID": I,
    "Name": S,
    "Email": S,
    "Phone": S,
    "SecretKey": S,
    "TerminalID": I,
    "TID": S,
    "Logon": {"LastLogon": S, "FailedAttempts": I, "LockedUntil": S},
    "Sessions": [{"ID": S, "Started": S, "LastUsed": S, "Device": S}],  # ours: contract, section 13
    "AvatarUrl": S,
    "HasAvatar": B,
    "Rights": [I],  # ours
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
CURRENCY_FORMAT = dict.fromkeys(("CurrencySign", "CurrencySignSafe", "AmountFormat", "AmountFormatWithoutCurrency"), S)
EMV_DATA = {"AID": S, "APN": S, "TSI": S, "TVR": S}
AMOUNTS = (
    "AmountOrig",
    "Amount",
    "AmountCashGot",
    "FeeTotal",
    "AmountNetto",
    "Balance",
    "AmountEff",
    "AmountRvs",
    "FeeTotalEff",
    "FeeTotalRvs",
)
REVERSAL_ACTIONS = (
    "CanCancelCNP",
    "CanCancelCNPpartial",
    "CanReturnCNP",
    "CanReturnCNPpartial",
    "CanCancel",
    "CanCancelPartial",
    "CanReturn",
    "CanReturnPartial",
)
TAX_AMOUNT: dict[str, Any] = {"Code": S, "Name": S, "Rate": D, "Gross": D, "Tax": D}  # ours
TRANSACTION: dict[str, Any] = {
    **dict.fromkeys(CARRIED, S),
    "TaxAmounts": [TAX_AMOUNT],  # ours
    "ID": S,
    "Date": S,
    "Deadline": S,
    "SmartDescription": S,
    "Invoice": S,
    "ReverseInvoice": S,
    "ScheduleID": I,
    "MerchantTranID": S,
    "AcquirerID": S,
    "AcquirerTranID": S,
    "AcquirerApprovalCode": S,
    "ApprovalCode": S,
    "Status": S,
    "RRN": S,
    "TerminalName": S,
    "LinkedCard": dict.fromkeys(("CardholderName", "PANEnding", "PANMasked", "PaymentType", "CardExp"), S)
    | {"ID": I, "LinkType": I},
    "ClientProductCode": S,
    **dict.fromkeys(AMOUNTS, D),
    "CountRvs": I,
    "PartialReverse": B,
    "Latitude": N,
    "Longitude": N,
    "HasPhoto": B,
    "HasSignature": B,
    "SignatureRequired": B,
    "SignatureRequiredEffective": B,
    "PhotoUrl": S,
    "SignatureUrl": S,
    "PINMode": I,
    "CurrencyID": S,
    **CURRENCY_FORMAT,
    "Format": {**CURRENCY_FORMAT, "CurrencyE": I},
    "PosID": I,
    "ClientID": I,
    "BranchID": I,
    "StateDisplay": S,
    "Line1": S,
    "Line2": S,
    "DisplayMode": I,
    "Operation": S,
    "OperationID": I,
    "State": I,
    "Substate": I,
    "SingleStepAuth": B,
    "InputType": I,
    "ReverseMode": I,
    "ReverseID": S,
    "Card": dict.fromkeys(("IIN", "BIN", "EXP", "PANMasked", "PANEnding", "BankName", "BankCountryID"), S),
    "ExtTranData": S,
    "ExtID": S,
    "CardholderName": S,
    "ReceiptEmail": S,
    "ReceiptPhone": S,
    **dict.fromkeys(REVERSAL_ACTIONS, B),
    "ReverseCPInputTypes": [I],
    "FiscalInfo": {"FiscalStatus": I, "FiscalError": I, "FiscalMessage": S},
    "IsNotFinished": B,
    "IsArchive": B,
    "EMVData": EMV_DATA,
    "ExternalPayment": O,
    "Attachments": A,
    "OfflineQueueId": S,
    "OfflineReceived": S,  # ours
    "PANTags": O,
    "CanServerFiscalizeForCNPReverse": B,
    "CanFiscalRemoteCorrection": B,
    "Result": {"Code": I, "Message": S},
    "TransPos": {"ID": I, "Email": S, "Name": S, "Phone": S},
}
LINKED_CARD = {
    "ID": I,
    "LinkType": I,
    "State": I,
    "Status": I,
    "AccountID": I,
    "Alias": S,
    "CardholderName": S,
    "LinkID": S,
    "PANEnding": S,
    "PANMasked": S,
    "PaymentType": S,
    "CardExp": S,
    "Created": S,
    "Updated": S,
    "Deleted": B,
    "CanDelete": B,
    "TransactionCount": I,
    "StorageID": I,
}
PAYMENT_OPTION = {
    "Id": I,
    "AcquirerCode": S,
    "AcquirerName": S,
    "RequiresEmailOrPhone": I,
    "RequiresEmailOrPhoneForOwnFiscalization": I,
    "ImgUrl": S,
    "ProductDescCodesRE": I,
    "ProductDescCodes": O,
}
PAYMENT_ANSWER = {
    "TransactionID": S,
    "EMVOnlineProcessingResult": S,
    "AdditionalAcquiringFields": S,
    "AdditionalAcquiringFieldsTitle": S,
    "TerminalName": S,
    "EMVData": EMV_DATA,
    "RequireSignature": B,
    "Transaction": "Transaction",
}
LIST_WRAPPER: dict[str, Any] = {
    "Days": A,
    "NotFinishedActualTrans": ["Transaction"],
    "InProcess": ["Transaction"],
    "Transactions": ["Transaction"],
    "TransactionsCounters": {"AmountCvt": D, **COUNTERS},
}
PUBLIC_STATUS = {
    "ID": S,
    "State": I,
    "Substate": I,
    "ResultCode": I,
    "ResultMessage": S,
    "Status": S,
    "IsArchive": B,
}
AUTH_ACCOUNT_ANSWER = {
    "SessionID": I,
    "LanguageID": S,
    "ID": I,
    "ClientID": I,
    "CurrencyID": S,
    "CountryID": S,
    "CountryName": S,
    "IsSystemUser": B,
    "PaymentOptions": ["PaymentOption"],
    "ProductDescListPhone": A,
}

WEBHOOK = {
    "ID": I,
    "Url": S,
    "Types": [S],
    "State": I,
    "Description": S,
    "Created": S,
    "Updated": S,
    "Secret": S,
}
ATTEMPT = {"Timestamp": S, "Milliseconds": I, "Status": I, "Answer": S, "Reason": S}
DELIVERY = {
    "WebhookID": I,
    "State": S,
    "Attempts": I,
    "LastStatus": I,
    "NextAttempt": S,
    "AttemptList": [ATTEMPT],
}
EVENT = {
    "ID": S,
    "Type": S,
    "Timestamp": S,
    "TransactionID": S,
    "State": I,
    "Substate": I,
    "Deliveries": [DELIVERY],
}
ME = {
    "AgentID": I,
    "Name": S,
    "Email": S,
    "ClientID": I,
    "ClientName": S,
    "CurrencyID": S,
    "CurrencyDigits": I,
    "GMT": I,
    "Today": S,
    "IsAdministrator": B,
    "IsSystemUser": B,
    "Rights": [I],
    "ExpiresAt": S,
}
TAKING = {
    "Day": S,
    "Hour": I,
    "AgentID": I,
    "AgentName": S,
    "InputType": I,
    "AcquirerCode": S,
    "CurrencyID": S,
    "Payments": I,
    "Amount": D,
    "Reversals": I,
    "AmountReversed": D,
    "Net": D,
}
DRAWER_ANSWER = {
    "Day": S,
    "AgentID": I,
    "AgentName": S,
    "CurrencyID": S,
    "Float": D,
    "Cash": D,
    "ReturnedByOthers": D,
    "Expected": D,
    "Counted": D,
    "Difference": D,
    "Note": S,
    "CountedAt": S,
    "CountedBy": I,
}

# The objects of answers. A path such as Transaction.Card.BankName begins with one of them, wherever it stands.
OBJECTS: dict[str, dict[str, Any]] = {
    "Envelope": ENVELOPE,
    "Pos": POS,
    "Merchant": MERCHANT,
    "Terminal": TERMINAL,
    "Transaction": TRANSACTION,
    "LinkedCard": LINKED_CARD,
    "PaymentOption": PAYMENT_OPTION,
    "PublicStatus": PUBLIC_STATUS,
    "Receipt": {"Language": S, "Subject": S, "Html": S, "Text": S, "ShortText": S},  # ours
    "CreatePos": {"Pos": "Pos"},
    "UpdateBulk": {"Pos": "Pos"},
    "PosList": {"PosList": ["Pos"], "PosCounters": COUNTERS},
    "TerminalList": {"Terminals": ["Terminal"], "TerminalsCounters": COUNTERS},  # ours
    "CreateMerchant": {"Merchant": "Merchant"},
    "CreateTerminal": {"Terminal": "Terminal"},
    "Submit": PAYMENT_ANSWER,
    # PreparedFields.Code is "Integer" in its table and text in the samples.
    "Prepare": PAYMENT_ANSWER | {"EMVData": O, "PreparedFields": [{"Code": S, "Value": S}]},
    "Reversal": PAYMENT_ANSWER | {"TransactionReverseID": S},
    "TransactionList": LIST_WRAPPER,
    "StatusPublic": {"Transaction": "PublicStatus"},
    "Export": {"Url": S},
    "ReceiptOf": {"Receipt": "Receipt"},
    "GetLinkedCards": {"LinkedCards": ["LinkedCard"]},
    "AuthAccount": AUTH_ACCOUNT_ANSWER,
    "Session": {"Data": {"SessionID": S}},
    "Webhook": WEBHOOK,
    "Event": EVENT,
    "CreateWebhook": {"Webhook": "Webhook"},
    "ListWebhooks": {"Webhooks": ["Webhook"]},
    "PriceList": {  # ours
        "PriceList": {
            "Version": I,
            "Updated": S,
            "UpdatedBy": I,
            "Taxes": [{"Code": S, "Name": S, "Rate": D}],
            "Items": [
                {
                    "Code": S,
                    "Title": S,
                    "Price": D,
                    "Unit": S,
                    "TaxCode": S,
                    "Group": S,
                    "Barcode": S,
                    "Active": B,
                }
            ],
        }
    },
    "TestWebhook": {"EventID": S},
    "ListEvents": {"Events": ["Event"], "EventsCounters": {"Pagesize": I, "ItemCountPage": I}},
    "DeleteWebhook": {},  # ours: nothing beside the envelope
    "ResendEvent": {},  # ours: nothing beside the envelope
    "Me": {"Data": ME},  # ours
    "Takings": {  # ours
        "Takings": [TAKING],
        "Taxes": [TAX_AMOUNT | {"Day": S, "Hour": I, "CurrencyID": S}],
        "ReceiptNumbers": [{"AgentID": I, "First": S, "Last": S, "Count": I}],
    },
    "Drawer": {"Drawer": DRAWER_ANSWER},  # ours
    "Drawers": {"Drawers": [DRAWER_ANSWER]},  # ours
    "SignOut": {},  # ours: nothing beside the envelope
    "Health": {},  # ours: nothing beside the envelope
}
# The object each endpoint answers beside the envelope.
ANSWERS = {
    "/api/v1/user/login/session": "Session",
    "/api/v1/user/logout/session": "SignOut",
    "/api/v1/user/me": "Me",
    "/api/v1/report/takings": "Takings",
    "/api/v1/report/drawer": "Drawer",
    "/api/v1/report/drawer/list": "Drawers",
    "/api/v1/payment/AuthAccount": "AuthAccount",
    "/api/v1/merchant/create": "CreateMerchant",
    "/api/v1/merchant/{merchantId}/update": "CreateMerchant",
    "/api/v1/merchant/{merchantId}/pos/create": "CreatePos",
    "/api/v1/merchant/{merchantId}/pos/{posId}": "CreatePos",
    "/api/v1/merchant/{merchantId}/pos/{posId}/update": "CreatePos",
    "/api/v1/merchant/{merchantId}/pos/updatebulk": "UpdateBulk",
    "/api/v1/merchant/{merchantId}/pos/list": "PosList",
    "/api/v1/merchant/{merchantId}/terminal/list": "TerminalList",
    "/api/v1/merchant/{merchantId}/pricelist": "PriceList",
    "/api/v1/merchant/{merchantId}/pricelist/update": "PriceList",
    "/api/v1/merchant/{merchantId}/webhook/create": "CreateWebhook",
    "/api/v1/merchant/{merchantId}/webhook/list": "ListWebhooks",
    "/api/v1/merchant/{merchantId}/webhook/{webhookId}/update": "CreateWebhook",
    "/api/v1/merchant/{merchantId}/webhook/{webhookId}/delete": "DeleteWebhook",
    "/api/v1/merchant/{merchantId}/webhook/{webhookId}/test": "TestWebhook",
    "/api/v1/merchant/{merchantId}/event/list": "ListEvents",
    "/api/v1/merchant/{merchantId}/event/{eventId}/resend": "ResendEvent",
    "/api/v1/terminal/create": "CreateTerminal",
    "/api/v1/payment/submit": "Submit",
    "/api/v1/payment/prepare": "Prepare",
    "/api/v1/payment/{tranId}": "TransactionList",
    "/api/v1/payment/receipt/{tranId}": "ReceiptOf",  # of GET; POST answers nothing beside the envelope
    "/api/v1/payment/statusPublic/{tranId}": "StatusPublic",
    "/api/v1/payment/listHistoryEx": "TransactionList",
    "/api/v1/payment/listByDaysEx": "TransactionList",
    "/api/v1/report/export": "Export",
    "/api/v1/payment/reverse": "Reversal",
    "/api/v1/payment/reversecnp": "Reversal",
    "/api/v1/payment/GetLinkedCards": "GetLinkedCards",
    "/api/v1/health": "Health",
}

# The fields that are null in every answer; the reference says of each why. Every other has a value in some answer.
ALWAYS_NULL = {
    "Merchant.AccountTypeID",
    "Merchant.AccountType",
    "Merchant.FInstName",
    "Terminal.Settled",
    "Terminal.TMK",
    "Terminal.TMKKCV",
    "Terminal.VN_OCEAN_TID",
    "Terminal.VN_OCEAN_PSW",
    "Transaction.ScheduleID",
    "Transaction.Balance",
    "Transaction.Card.BankName",
    "Transaction.Card.BankCountryID",
    "Transaction.FiscalInfo.FiscalMessage",
    "Transaction.ExternalPayment",
    "Transaction.Attachments",
    "Transaction.PANTags",
    "TransactionList.Days",
    "PaymentOption.ImgUrl",
    "AuthAccount.SessionID",
    "UpdateBulk.Pos",
    *(f"Prepare.{name}" for name in PAYMENT_ANSWER),
}
