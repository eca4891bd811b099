"""The answers of the host: matching them to requests, and reading them (section 6 of its interface)."""

from dataclasses import replace

from chalicelib.domain import emv
from chalicelib.domain.acquirer import (
    APPROVED_CODE,
    DUPLICATE,
    AcquirerAnswer,
    AnswerLostError,
    ReversalKind,
    ReversalRequest,
    Reversed,
    UnusableAnswerError,
    text_of_code,
)
from chalicelib.domain.iso8583_dialect import Dialect
from chalicelib.gateways.acquirers.iso8583 import messages
from chalicelib.gateways.acquirers.iso8583.codec import Codec, CodecError, Content
from chalicelib.log import log

ANSWERS = {
    messages.REQUEST: "0210",
    messages.ADVICE: "0430",
    messages.REPEATED_ADVICE: "0430",
    messages.ECHO: "0810",
}
AMOUNT, APPROVAL, CODE, CHIP, HOST_NUMBER = "4", "38", "39", "55", "63"
IDENTITY = frozenset({"3", "7", "11", "12", "13", "32", "37", "41", "42", "49"})
ECHOED = {"0210": IDENTITY, "0430": IDENTITY | {"90"}, "0810": frozenset({"7", "11", "70"})}
REQUIRED = {"0210": IDENTITY | {AMOUNT, CODE}, "0430": IDENTITY | {AMOUNT, CODE, "90"}, "0810": ECHOED["0810"] | {CODE}}
OPTIONAL = {
    "0210": frozenset({APPROVAL, HOST_NUMBER, "15", "44", "48", CHIP}),
    "0430": frozenset({APPROVAL}),
    "0810": frozenset({"32"}),
}

APPROVED, SIGNATURE, APPROVED_FOR_LESS = "00", "08", "10"
APPROVALS = frozenset({APPROVED, SIGNATURE})
OF_AN_APPROVAL = frozenset({APPROVAL, HOST_NUMBER})
PIN_CODES = frozenset({65, 70})
OUT_OF_ORDER = frozenset({91, 96})
DO_NOT_HONOUR, FORMAT_ERROR = 5, 30
PIN_ONLINE = 1  # PINMode: repeat the payment with a PIN


def read(data: bytes, sent: Content, codec: Codec) -> Content | None:
    """Return the answer to the sent message; None for an answer to another request.

    Raise UnusableAnswerError for an unreadable answer, or an approval of something else.
    """
    try:
        answer = codec.decode(data)
    except CodecError:
        answer = None
    if answer is None:
        raise UnusableAnswerError
    if answer.mti != ANSWERS[sent.mti] or not _repeats(sent, answer):
        return None
    code = _code_text(answer, codec.dialect)
    if not _is_of_the_table(answer, code, codec.dialect):
        raise UnusableAnswerError
    is_other = AMOUNT in sent.fields and answer.fields[AMOUNT] != sent.fields[AMOUNT] and code != APPROVED_FOR_LESS
    if is_other and code in APPROVALS:
        raise UnusableAnswerError
    return None if is_other else answer


def of_request(answer: Content, sent: Content, reverses: Reversed | None, dialect: Dialect) -> AcquirerAnswer:
    """Return the answer in a 0210; raise UnusableAnswerError when it leaves the outcome open."""
    code = _code(answer, dialect)
    if code == DUPLICATE:  # an earlier copy of the request may be approved
        raise UnusableAnswerError
    if code == FORMAT_ERROR:
        _log_refusal("format_error", answer, sent)
    result = _answer(answer, code, reverses)
    if CHIP not in sent.fields:
        return result
    emv_result = answer.fields.get(CHIP) or emv.online_result(result.code)
    return replace(result, emv_result=emv_result)


def of_advice(answer: Content, sent: Content, request: ReversalRequest, dialect: Dialect) -> AcquirerAnswer:
    """Return the answer in an 0430; raise AnswerLostError when the advice must be repeated.

    Only an acknowledgement ends an automatic reversal. A cancel may also be declined.
    """
    code = _code(answer, dialect)
    reverses = Reversed(request.original, request.amount_minor)
    if code == APPROVED_CODE:
        return _answer(answer, code, reverses)
    if _code_text(answer, dialect) in {SIGNATURE, APPROVED_FOR_LESS}:  # an advice cannot have these codes
        raise UnusableAnswerError
    if code in OUT_OF_ORDER:  # the host did not execute it
        raise AnswerLostError
    if request.kind is not ReversalKind.CANCEL:
        _log_refusal("refused_advice", answer, sent)
        raise AnswerLostError
    if code == FORMAT_ERROR:
        _log_refusal("format_error", answer, sent)
    return _answer(answer, code, reverses)


def code_of_echo(answer: Content, dialect: Dialect) -> int:
    """Return the response code of an 0810."""
    return _code(answer, dialect)


def _repeats(sent: Content, answer: Content) -> bool:
    """Return whether the answer repeats the request's values in the fields that must be equal."""
    echoed = sent.fields.keys() & answer.fields.keys() & ECHOED[answer.mti]
    return all(answer.fields[number] == sent.fields[number] for number in echoed)


def _is_of_the_table(answer: Content, code: str, dialect: Dialect) -> bool:
    """Return whether it has every required field and no forbidden field."""
    required = REQUIRED[answer.mti]
    if answer.mti == ANSWERS[messages.REQUEST] and code in APPROVALS:
        required |= OF_AN_APPROVAL
    present = answer.fields.keys()
    return required & dialect.fields.keys() <= present <= required | OPTIONAL[answer.mti] | dialect.added


def _code_text(answer: Content, dialect: Dialect) -> str:
    code = answer.fields.get(CODE, "")
    return dialect.codes.get(code, code)


def _code(answer: Content, dialect: Dialect) -> int:
    """Return the response code as a number. A code with a letter counts as 5."""
    text = _code_text(answer, dialect)
    return int(text) if text.isdigit() else DO_NOT_HONOUR


def _answer(answer: Content, code: int, reverses: Reversed | None) -> AcquirerAnswer:
    needs_signature = code == int(SIGNATURE)
    code = APPROVED_CODE if needs_signature else code
    is_approved = code == APPROVED_CODE
    return AcquirerAnswer(
        code,
        text_of_code(code),
        approval_code=answer.fields.get(APPROVAL) if is_approved else None,
        rrn=answer.fields.get("37"),
        acquirer_tran_id=answer.fields.get(HOST_NUMBER, "").strip() or None if is_approved else None,
        signature_required=needs_signature,
        pin_mode=PIN_ONLINE if code in PIN_CODES else None,
        reverses=reverses,
    )


def _log_refusal(event: str, answer: Content, sent: Content) -> None:
    """Log a message that the host refuses. The service made it, so an operator must look."""
    facts = {name: sent.fields.get(number) for name, number in (("processing", "3"), ("stan", "11"), ("rrn", "37"))}
    log(event, mti=sent.mti, code=answer.fields[CODE], terminal=sent.fields.get("41"), **facts)
