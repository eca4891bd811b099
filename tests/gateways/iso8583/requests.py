"""Builders of requests to the host: a valid one, of which a test changes its subject."""

from datetime import UTC, datetime
from typing import Any

from chalicelib.domain.acquirer import AuthorizationRequest, Message, ReversalKind, ReversalRequest
from chalicelib.domain.card import CardData, read
from chalicelib.domain.iso8583_dialect import Dialect, changed
from chalicelib.domain.kinds import InputType
from chalicelib.domain.transaction import MessageTrace, TerminalSnapshot
from chalicelib.gateways.acquirers.iso8583 import answers, messages
from chalicelib.gateways.acquirers.iso8583.codec import Codec, Content
from chalicelib.settings.iso8583 import usual
from tests.support.cards import a_card, an_input
from tests.support.transactions import ZAR, a_guid

RRN = "6JX2M0Q7TZ4A"
MADE_AT = datetime(2026, 11, 21, 18, 0, 3, tzinfo=UTC)
LOCAL = datetime(2026, 11, 21, 20, 0, 2)  # noqa: DTZ001  a time of the merchant's zone has none
TRACE = MessageTrace(42, MADE_AT)
NEXT = MessageTrace(43, datetime(2026, 11, 21, 18, 1, 4, tzinfo=UTC))
CVV2 = "739"
CODEC = Codec(usual())

# The messages of section 10 of the interface, without their length headers.
PURCHASE = bytes.fromhex(
    "30323030723C468128E182003136343131313131313131313131313131313030303030303030303030303030313233303131"
    "3231313830303033303030303432323030303032313132313330313235343131303532303031303030363132333435363337"
    "343131313131313131313131313131313D3330313232303130303030303132333435363738364A58324D305137545A344144"
    "454D4F3030303142414E4B303030303030303030303144656D6F2053746F7265202020202020202020202020202020436170"
    "6520546F776E202020205A413030363631303230383731303034378407A00000000310109F2608A1B2C3D4E5F607189F2701"
    "809F3602001E9F37041A2B3C4D9505000000800082023800"
)
APPROVAL = bytes.fromhex(
    "30323130323A00010EC082023030303030303030303030303030313233303131323131383030303330303030343232303030"
    "303231313231313132313036313233343536364A58324D305137545A3441333333333830303044454D4F3030303142414E4B"
    "30303030303030303030313731303031368A023030910A11223344556677883030303136484F535430303030303030303030"
    "3031"
)
ADVICE = bytes.fromhex(
    "30343230B238000108C081000000004000000000303030303030303030303030303031323330313132313138303130343030"
    "30303433323030303032313132313036313233343536364A58324D305137545A344144454D4F3030303142414E4B30303030"
    "3030303030303137313030303434303231303230303030303034323131323131383030303330303030303132333435363030"
    "303030303030303030"
)
CHIP = (
    "57134111111111111111D30122010000012345678F5A08411111111111111100"
    "8407A00000000310109F2608A1B2C3D4E5F607189F2701809F3602001E9F37041A2B3C4D95050000008000820238005F340101"
)


def a_terminal(**changes: str) -> TerminalSnapshot:
    facts = {
        "mid": "BANK00000000001",
        "title": "Demo Store",
        "city": "Cape Town",
        "country_code": "ZA",
        "sic": "5411",
        "entry_caps": "8",
    }
    return TerminalSnapshot(**{**facts, **changes})


def a_message(**changes: Any) -> Message:
    facts: dict[str, Any] = {
        "rrn": RRN,
        "trace": TRACE,
        "local_time": LOCAL,
        "tid": "DEMO0001",
        "institution": "123456",
        "terminal": a_terminal(),
    }
    return Message(**{**facts, **changes})


def a_purchase(**changes: Any) -> AuthorizationRequest:
    """R 12.30 by a keyed-in card."""
    facts: dict[str, Any] = {
        "reference": a_guid(),
        "amount_minor": 1230,
        "currency": ZAR,
        "input_type": InputType.MANUAL_ENTRY,
        "terminal": "DEMO0001",
        "merchant": "BANK00000000001",
        "card": a_card(cvv2=CVV2),
        "message": a_message(),
    }
    return AuthorizationRequest(**{**facts, **changes})


def a_reversal(kind: ReversalKind = ReversalKind.AUTOMATIC, **changes: Any) -> ReversalRequest:
    """Return the reversal of a_purchase."""
    facts: dict[str, Any] = {
        "reference": a_guid(),
        "original": a_guid(),
        "amount_minor": 1230,
        "currency": ZAR,
        "kind": kind,
        "message": a_message(trace=NEXT),
        "original_trace": TRACE,
        "reason": "4021",
    }
    return ReversalRequest(**{**facts, **changes})


def read_card(input_type: InputType, data: str, cvv2: str | None = None) -> CardData:
    """Return the card of a reader's data."""
    card, problems = read(input_type, an_input(pan=None, exp=None, cvv2=cvv2, reader_data=data))
    assert card is not None, problems
    return card


def by_chip(data: str, input_type: InputType = InputType.CHIP) -> AuthorizationRequest:
    return a_purchase(input_type=input_type, card=read_card(input_type, data))


def fields_of(request: AuthorizationRequest | ReversalRequest) -> dict[str, str]:
    """Return the fields the host gets."""
    if isinstance(request, AuthorizationRequest):
        content = messages.purchase(request)
    else:
        content = (messages.refund if request.kind is ReversalKind.RETURN else messages.advice)(request)
    return dict(CODEC.decode(CODEC.encode(CODEC.prepared(content))).fields)


def a_dialect(**document: Any) -> Dialect:
    return changed(usual(), document)


def an_answer(sent: Content | None = None, /, **changes: str | None) -> Content:
    """Return the approval of what was sent; `f39="51"` changes a field, None leaves it out."""
    sent = sent or CODEC.decode(PURCHASE)
    mti = answers.ANSWERS[sent.mti]
    fields = {number: value for number, value in sent.fields.items() if number in answers.ECHOED[mti] | {"4"}}
    fields["39"] = "00"
    if mti == "0210":
        fields |= {"38": "333380", "63": "HOST000000000001"}
    for name, value in changes.items():
        fields.pop(name[1:], None)
        if value is not None:
            fields[name[1:]] = value
    return Content(mti, fields)
