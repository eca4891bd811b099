"""Prepare a payment: the partner that sells a product fills in the product's fields."""

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
from chalicelib.services.caller_check import admit
from chalicelib.settings import Partner, settings

RETRY_AFTER_S = 5
FIELDS_REFUSED = "The partner does not take these fields."


def prepare(body: PreparePayment, caller: Caller, now: datetime) -> tuple[PreparedField, ...]:
    """Return the fields that the product's partner fills in.

    Raise PRODUCT_NOT_FOUND for a product without a partner, VALIDATION_FAILED when the partner refuses the fields,
    DEPENDENCY_UNAVAILABLE when the partner gives no valid answer in time. Nothing is stored, so a repeat is safe.
    """
    permissions.check_can_take_payments(admit(caller, current_account_id=body.current_account_id).agent)
    partner = settings().partners.get(body.product_desc_code)
    if partner is None:
        raise ServiceError(ErrorCode.PRODUCT_NOT_FOUND)

    return _ask_partner(partner, body.to_domain(), now)


def _ask_partner(partner: Partner, request: PartnerRequest, now: datetime) -> tuple[PreparedField, ...]:
    started = time.perf_counter()
    outcome = "prepared"
    try:
        secret = secrets.partner(partner.product)
        if secret is None:
            message = "its secret is not among the stage's"
            raise FailedError(message)  # noqa: TRY301  a stage without the secret is like a partner out of reach
        return partners.request_fields(partner, secret, request, now)
    except partners.RefusedError as refusal:
        outcome = "refused the fields"
        raise invalid(*_findings(refusal.problems, request)) from None
    except FailedError as failure:
        outcome = str(failure)
        raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, retry_after=RETRY_AFTER_S) from None
    finally:
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        log("partner", product=partner.product, outcome=outcome, milliseconds=milliseconds)


def _findings(problems: tuple[Problem, ...], request: PartnerRequest) -> list[Finding]:
    """Return the partner's problems as findings, each at the field that it names."""
    names = [name for name, _ in request.fields]
    findings = [_finding(problem, names) for problem in problems]
    return findings or [Finding("prepare_fields", Check.FORMAT, FIELDS_REFUSED)]


def _finding(problem: Problem, names: list[str]) -> Finding:
    if problem.name is None:
        return Finding("prepare_fields", Check.FORMAT, problem.message)
    if problem.name in names:
        return Finding(f"prepare_fields[{names.index(problem.name)}].value", Check.FORMAT, problem.message)
    return Finding("prepare_fields", Check.REQUIRED, f"{problem.name}: {problem.message}")
