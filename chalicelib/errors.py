"""The catalogue of refusals: one enum, one exception, one shape on the wire."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

MAX_VALIDATIONS = 100  # items in an answer: the first ones found


class ErrorCode(Enum):
    """`ErrorCode` of the envelope, with its HTTP status and its usual message.

    A decline is not among them, because it is an answer: 1000 + the ISO 8583 response code.
    """

    NO_CREDENTIAL = (101, 401, "A credential is required.")
    BAD_CREDENTIAL = (102, 401, "The login or its secret is wrong.")
    AGENT_BLOCKED = (103, 401, "The agent is blocked.")
    LOGIN_LOCKED = (104, 401, "The login is locked after failed attempts.")
    SESSION_EXPIRED = (105, 401, "The session has expired.")
    TOKEN_INVALID = (106, 401, "The token is invalid.")
    SCHEME_DISABLED = (107, 401, "This authorization scheme is not enabled.")
    MERCHANT_BLOCKED = (108, 401, "The merchant is blocked.")
    SECOND_FACTOR = (109, 401, "A second factor is needed, or the code is wrong or was used.")
    ROLE_MAY_NOT = (151, 403, "The account may not do this.")
    NOT_THE_CALLER = (152, 403, "CurrentAccountID is not the account of the credential.")

    MALFORMED_JSON = (201, 400, "The body is not a JSON object.")
    VALIDATION_FAILED = (202, 400, "The request is not valid: see Validations.")
    TOO_LARGE = (203, 413, "The body is too large.")
    PATH_AND_BODY_DIFFER = (204, 400, "The path and the body name different objects.")
    MEDIA_TYPE = (205, 415, "The body must be application/json.")
    METHOD_NOT_ALLOWED = (206, 405, "The path does not take this method.")
    UNKNOWN_PATH = (207, 404, "There is nothing at this path.")

    IN_PROGRESS = (301, 409, "An operation with this ID is in progress.")
    ID_REUSED = (302, 422, "This ID was used before with other content.")
    NOT_REVERSIBLE_HERE = (303, 409, "The payment cannot be reversed this way.")
    EXCEEDS_REMAINDER = (304, 409, "The amount exceeds what remains of the payment.")
    ALREADY_REVERSED = (305, 409, "The payment is reversed in full already.")
    CANCEL_WINDOW_CLOSED = (306, 409, "The payment can no longer be cancelled: return it.")
    EMAIL_TAKEN = (307, 409, "The e-mail belongs to an agent already.")
    TID_TAKEN = (308, 409, "The merchant has a terminal of this name already.")
    ORIGINAL_UNFINISHED = (309, 409, "The original payment is not finished.")
    OUTCOME_UNKNOWN = (310, 200, "The outcome is not known yet: ask for the status.")
    KIND_NOT_ENABLED = (311, 403, "This kind of payment, or returns, or discounts are not enabled for the agent.")
    KIND_NOT_SUPPORTED = (312, 400, "This kind of operation is not supported.")
    PRICE_LIST_CHANGED = (314, 409, "The price list was changed meanwhile: load it again.")
    NO_USABLE_TERMINAL = (315, 409, "The agent has no terminal that may take payments.")
    DRAWER_OPEN = (316, 409, "The agent's drawer is open already.")
    NO_OPEN_DRAWER = (317, 409, "No drawer of the agent is open.")

    TOO_SOON = (401, 429, "This may be asked once in ten minutes.")  # AuthAccount names the interval of its stage
    THROTTLED = (402, 429, "Too many requests.")
    BATCH_TOO_LONG = (403, 400, "The batch has too many items.")
    PERIOD_TOO_LONG = (404, 400, "The period is too long, or holds too many operations for this filter.")

    MERCHANT_NOT_FOUND = (561, 404, "The merchant is not found.")
    TERMINAL_NOT_FOUND = (562, 404, "The terminal is not found.")
    AGENT_NOT_FOUND = (563, 404, "The account is not found.")
    PRINTER_NOT_FOUND = (564, 404, "The printer is not found.")
    BRANCH_NOT_FOUND = (565, 404, "The branch is not found.")
    CARD_NOT_FOUND = (566, 404, "The linked card is not found.")
    PRODUCT_NOT_FOUND = (567, 404, "The product is not found.")
    TRANSACTION_NOT_FOUND = (568, 404, "The transaction is not found.")
    GROUP_NOT_FOUND = (569, 404, "The terminal group is not found.")
    WEBHOOK_NOT_FOUND = (570, 404, "The webhook is not found.")
    EVENT_NOT_FOUND = (571, 404, "The event is not found.")

    INTERNAL = (901, 500, "An internal error.")
    DEPENDENCY_UNAVAILABLE = (902, 503, "The acquirer or partner is out of reach; nothing was attempted.")
    STORE_UNAVAILABLE = (903, 503, "The store is out of reach.")

    def __init__(self, code: int, status: int, message: str) -> None:
        self.code = code
        self.status = status
        self.message = message

    @property
    def is_denial(self) -> bool:
        """Return whether it denies a sign-in: the codes below ROLE_MAY_NOT."""
        return self.code < ErrorCode.ROLE_MAY_NOT.code

    @property
    def is_outage(self) -> bool:
        """Return whether something else than this service did not answer."""
        return self in (ErrorCode.DEPENDENCY_UNAVAILABLE, ErrorCode.STORE_UNAVAILABLE)


class Check(IntEnum):
    """`Code` of a validation item. Codes 561-571 (a reference to a missing record) equal their ErrorCode."""

    REQUIRED = 1
    TYPE = 2
    FORMAT = 3
    TOO_LONG = 4
    OUT_OF_RANGE = 5
    NOT_IN_DICTIONARY = 6
    TOO_MANY_DECIMALS = 7
    CARD_NUMBER = 8
    CARD_EXPIRED = 9
    PATH_AND_BODY_DIFFER = 10
    TWICE = 11
    CONTRADICTION = 12
    SPELLING = 13
    WITHOUT_EFFECT = 14


@dataclass(frozen=True)
class Finding:
    """A fault in a field of a domain value, under the domain's name: `amount`, `card.exp`."""

    field: str
    code: int
    message: str


def missing(field: str, error: ErrorCode) -> Finding:
    """Return the finding of a field that refers to a missing record."""
    return Finding(field, error.code, error.message)


ERROR, WARNING = 1, 2


@dataclass(frozen=True)
class Validation(Finding):
    """One item of `Validations`. Its field is the path in the request. A warning does not stop the request."""

    type: int = ERROR

    def on_the_wire(self) -> dict[str, Any]:
        """Return the item in its wire form."""
        return {"Type": self.type, "Property": self.field, "Code": int(self.code), "Message": self.message}


class LoggableError(Exception):
    """A failure whose message may be logged: it quotes neither a request nor an answer."""


class ServiceError(Exception):
    """A refusal to try, with the answer to the caller. Nothing has changed when it is raised.

    `validations` may hold findings of the domain; the edge finds the request's field for each. `retry_after` is the
    number of seconds to wait before the next attempt, if it is not the usual one. `replayed`: the same request was
    already refused.
    """

    def __init__(
        self,
        error: ErrorCode,
        message: str | None = None,
        *,
        validations: tuple[Finding, ...] = (),
        retry_after: int | None = None,
        replayed: bool = False,
    ) -> None:
        super().__init__(message or error.message)
        self.error = error
        self.message = message or error.message
        self.validations = validations
        self.retry_after = retry_after
        self.replayed = replayed


def invalid(*validations: Finding) -> ServiceError:
    """Return the refusal of a request with invalid fields, with all findings."""
    return ServiceError(ErrorCode.VALIDATION_FAILED, validations=validations)


def invalid_references(*validations: Finding) -> ServiceError:
    """Return the refusal of references to missing records: the first one's error, or 202 if other fields are wrong."""
    if {item.code for item in validations} == {Check.PATH_AND_BODY_DIFFER}:
        return ServiceError(ErrorCode.PATH_AND_BODY_DIFFER, validations=validations)
    if any(item.code in set(Check) for item in validations):
        return invalid(*validations)
    first = next(error for error in ErrorCode if error.code == validations[0].code)
    return ServiceError(first, validations=validations)


def envelope(
    code: int = 0, message: str | None = None, validations: tuple[Validation, ...] = (), most: int = MAX_VALIDATIONS
) -> dict[str, Any]:
    """Return the three fields of every body of the service."""
    return {
        "ErrorCode": code,
        "ErrorMessage": message,
        "Validations": [item.on_the_wire() for item in validations[:most]] or None,
    }
