"""Preparing a payment: a product's fields, filled in by the partner that sells it."""

import time
from datetime import datetime

from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.partner import PartnerRequest, PreparedField, Problem
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.gateways import partners, secrets
from chalicelib.gateways.https import FailedError
from chalicelib.log import log
from chalicelib.schemas.prepare import PreparePayment
from chalicelib.services.admission import admit
from chalicelib.settings import Partner, settings

RETRY_AFTER_S = 5
REFUSED = "The partner does not take these fields."


def prepare(body: PreparePayment, caller: Caller, now: datetime) -> tuple[PreparedField, ...]:
    """What the product's partner fills in.

    567 for a product nobody fills in, 202 when the partner refuses the fields, 902 when it gives no valid answer in its
    time. Nothing is kept, so asking again is always safe.
    """
    permissions.take_payments(admit(caller, current_account_id=body.current_account_id).agent)
    partner = settings().partners.get(body.product_desc_code)
    if partner is None:
        raise ServiceError(ErrorCode.PRODUCT_NOT_FOUND)
    _check_names(body)

    fields = tuple((field.name, field.value) for field in body.prepare_fields)
    return _asked(partner, PartnerRequest(partner.product, body.client_product_code, fields), now)


def _check_names(body: PreparePayment) -> None:
    """Which of two values of one name is meant, no partner can tell."""
    names = [field.name for field in body.prepare_fields]
    twice = [
        Finding(f"prepare_fields[{number}].name", Check.TWICE, "The field is given twice.")
        for number, name in enumerate(names)
        if name in names[:number]
    ]
    if twice:
        raise invalid(*twice)


def _asked(partner: Partner, question: PartnerRequest, now: datetime) -> tuple[PreparedField, ...]:
    """The partner's answer, and a line in the log of what came of it."""
    started = time.perf_counter()
    outcome = "prepared"
    try:
        secret = secrets.partner(partner.product)
        if secret is None:
            message = "its secret is not among the stage's"
            raise FailedError(message)  # noqa: TRY301  the stage is not set up: out of reach like any other reason
        return partners.request_fields(partner, secret, question, now)
    except partners.RefusedError as refusal:
        outcome = "refused the fields"
        raise invalid(*_findings(refusal.problems, question)) from None
    except FailedError as failure:
        outcome = str(failure)
        raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, headers={"Retry-After": str(RETRY_AFTER_S)}) from None
    finally:
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        log("partner", product=partner.product, outcome=outcome, milliseconds=milliseconds)


def _findings(problems: tuple[Problem, ...], question: PartnerRequest) -> list[Finding]:
    """What the partner said, at the fields it spoke of."""
    names = [name for name, _ in question.fields]
    return [_finding(problem, names) for problem in problems] or [Finding("prepare_fields", Check.FORMAT, REFUSED)]


def _finding(problem: Problem, names: list[str]) -> Finding:
    if problem.name is None:
        return Finding("prepare_fields", Check.FORMAT, problem.message)
    if problem.name in names:
        return Finding(f"prepare_fields[{names.index(problem.name)}].value", Check.FORMAT, problem.message)
    return Finding("prepare_fields", Check.REQUIRED, f"{problem.name}: {problem.message}")
