"""The adapter of ISO8583 (`Acquirer` describes its methods), and the findings about requests."""

import re
from collections.abc import Callable
from datetime import timedelta

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AnswerLostError,
    AuthorizationRequest,
    InquiryRequest,
    LinkAnswer,
    LinkRequest,
    ReversalKind,
    ReversalRequest,
    Reversed,
    UnreachableError,
)
from chalicelib.domain.card import CardData
from chalicelib.domain.kinds import InputType
from chalicelib.domain.transaction import MessageTrace
from chalicelib.errors import Check, Finding
from chalicelib.gateways.acquirers.iso8583 import answers, messages
from chalicelib.gateways.acquirers.iso8583.codec import Codec, Content
from chalicelib.gateways.acquirers.iso8583.transport import connected
from chalicelib.log import log_defect
from chalicelib.settings import ISO8583
from chalicelib.settings.iso8583 import Host

MOST_MINOR = 999_999_999_999  # twelve digits
MOST_TRACK2, MOST_CHIP_DATA = 37, 255
MOST_MID, MOST_TID = 15, 8
PRINTABLE = re.compile("[ -~]+")

Findings = tuple[Finding, ...]


def refuse(request: AuthorizationRequest | ReversalRequest) -> Findings:
    """Return the findings about a payment, or about a reversal and its card, that the host cannot take."""
    findings = _card(request.card) if request.card else ()
    if isinstance(request, ReversalRequest):
        return findings
    if not request.single_step:
        findings += (Finding("single_step", Check.CONTRADICTION, "This acquirer takes payments in a single step."),)
    if request.amount_minor > MOST_MINOR:
        message = f"This acquirer takes at most {MOST_MINOR} minor units."
        findings += (Finding("amount", Check.OUT_OF_RANGE, message),)
    return (
        *findings,
        *_name("terminal.mid", "BackRetailerID", request.merchant, MOST_MID),
        *_name("terminal.tid", "Name", request.terminal, MOST_TID),
    )


def _card(card: CardData) -> Findings:
    track = messages.track2(card)
    if track is not None and len(track.text) > MOST_TRACK2:
        message = f"This acquirer takes a track 2 of at most {MOST_TRACK2} characters."
        return (Finding("card.reader_data", Check.TOO_LONG, message),)
    size = len(messages.chip_data(card))
    if card.tlv is not None and not 0 < size <= MOST_CHIP_DATA:
        message = f"This acquirer needs 1 to {MOST_CHIP_DATA} bytes of chip data it knows."
        return (Finding("card.reader_data", Check.FORMAT if not size else Check.TOO_LONG, message),)
    return ()


def _name(field: str, shown: str, text: str | None, most: int) -> Findings:
    if not text or not text.strip():
        return (Finding(field, Check.REQUIRED, f"The acquirer of this payment needs the terminal's {shown}."),)
    if len(text) > most or not PRINTABLE.fullmatch(text):
        message = f"The acquirer of this payment takes at most {most} ASCII characters as the terminal's {shown}."
        return (Finding(field, Check.TOO_LONG if len(text) > most else Check.FORMAT, message),)
    return ()


class Iso8583:
    """An acquirer with an ISO 8583 host. Each message has its own connection, and none is sent twice.

    Without a host, which a stage may have removed too early, it is unreachable.
    """

    name = "ISO 8583"
    quiet = timedelta(0)
    can_inquire = False
    links_cards = False
    takes = frozenset({InputType.MANUAL_ENTRY, InputType.MAGNETIC_STRIPE, InputType.CHIP, InputType.CONTACTLESS})

    def __init__(self, host: Host | None) -> None:
        self._host = host
        self.institution = host.institution if host else ""

    def refuse(self, request: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
        """Return the findings about a request that fits no message."""
        return refuse(request)

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Send the 0200 of a payment."""
        host, sent, answer = self._exchange(lambda: messages.purchase(request), within_s)
        return answers.of_request(answer, sent, None, host.dialect)

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Send the 0200 of a return, or the 0420 or 0421 of any other reversal."""
        if request.kind is ReversalKind.RETURN:
            host, sent, answer = self._exchange(lambda: messages.refund(request), within_s)
            reverses = Reversed(request.original, request.amount_minor)
            return answers.of_request(answer, sent, reverses, host.dialect)
        host, sent, answer = self._exchange(lambda: messages.advice(request), within_s)
        return answers.of_advice(answer, sent, request, host.dialect)

    def inquire(self, _: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Raise AnswerLostError: the host answers no inquiries."""
        del within_s
        raise AnswerLostError

    def link(self, _: LinkRequest, within_s: float) -> LinkAnswer:
        """Raise UnreachableError: the host has no tokens."""
        del within_s
        raise UnreachableError

    def echo(self, trace: MessageTrace, within_s: float) -> int:
        """Send an 0800 and return the response code: an operator's check of the connection."""
        host, _, answer = self._exchange(lambda: messages.echo(trace), within_s)
        return answers.code_of_echo(answer, host.dialect)

    def _exchange(self, make: Callable[[], Content], within_s: float) -> tuple[Host, Content, Content]:
        """Send a message; return the host, the message as the host reads it, and the matching answer."""
        if self._host is None:
            raise UnreachableError
        codec = Codec(self._host.dialect)
        written = _written(make, codec)
        if written is None:
            raise UnreachableError
        data, sent = written
        with connected(self._host, within_s) as line:
            line.send(data)
            while True:
                answer = answers.read(line.receive(), sent, codec)
                if answer is not None:
                    return self._host, sent, answer


def _written(make: Callable[[], Content], codec: Codec) -> tuple[bytes, Content] | None:
    """Return the bytes of a message, and the message as the host reads them.

    Return None, and log the defect, when the message cannot be written. `refuse` should have found it before.
    """
    try:
        data = codec.encode(codec.prepared(make()))
        return data, codec.decode(data)
    except Exception as defect:  # noqa: BLE001  after any defect here, nothing was sent
        log_defect(defect, acquirer=ISO8583)
    return None
