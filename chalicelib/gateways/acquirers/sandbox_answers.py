"""The answers of SANDBOX: everything but the code follows from the reference, so a repeated request gets the same."""

import hashlib

from chalicelib.domain.acquirer import (
    APPROVED_CODE,
    DUPLICATE,
    AcquirerAnswer,
    ReversalRequest,
    Reversed,
    message_of,
)
from chalicelib.record import Record

PIN_REQUIRED = 65
PIN_ONLINE = 1  # PINMode of a payment that must be repeated with a PIN
ADDITIONAL_TITLE = "Sandbox"  # AdditionalAcquiringFieldsTitle of an approval


class SandboxRecord(Record):
    """The stored answer to one request, under its reference."""

    id: str
    code: int
    amount_minor: int
    reversed_minor: int = 0
    signature_required: bool = False
    original: str | None = None  # of a reversal
    steady: bool = False  # the card's number decides, whatever the cents
    chip: bool = False  # a chip was read: it gets the issuer's answer


def answer_to(request: ReversalRequest, record: SandboxRecord) -> AcquirerAnswer:
    """Return the answer of a reversal's record; refuse a reference that was used for anything else."""
    same = (record.original, record.amount_minor) == (request.original, request.amount_minor)
    return answer_of(record) if same else duplicate()


def duplicate() -> AcquirerAnswer:
    """Return the refusal of a reference that was used for anything else."""
    return AcquirerAnswer(DUPLICATE, message_of(DUPLICATE))


def answer_of(record: SandboxRecord) -> AcquirerAnswer:
    """Make the answer of a record: everything but the code is derived from the reference."""
    digits = f"{int(hashlib.sha256(record.id.encode()).hexdigest(), 16):078d}"
    approved = record.code == APPROVED_CODE
    return AcquirerAnswer(
        record.code,
        message_of(record.code),
        approval_code=digits[:6] if approved else None,
        rrn=digits[6:18],
        acquirer_tran_id=f"SBX{digits[18:30]}",
        signature_required=record.signature_required,
        pin_mode=PIN_ONLINE if record.code == PIN_REQUIRED else None,
        reverses=Reversed(record.original, record.amount_minor) if record.original else None,
        additional_fields=f"BATCH={digits[30:33]};TRACE={digits[33:39]}" if approved else None,
        additional_fields_title=ADDITIONAL_TITLE if approved else None,
        emv_result=_emv_result(record, digits) if record.chip else None,
    )


def _emv_result(record: SandboxRecord, digits: str) -> str:
    """Return the issuer's answer for the chip: the response code (8A), and of an approval its proof (91), too."""
    code = f"{record.code:02d}".encode()
    proof = f"910A{digits[39:55]}{code.hex()}" if record.code == APPROVED_CODE else ""
    return f"8A02{code.hex()}{proof}"
