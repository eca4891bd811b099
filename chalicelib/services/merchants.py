"""Creating and changing merchants."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import outbox as messages
from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller, MobileSettings
from chalicelib.domain.audit import Act, changed
from chalicelib.domain.effective_settings import merged
from chalicelib.domain.merchant import DEFAULT_GROUPS, Merchant, TerminalGroup
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError
from chalicelib.iso import currency_of
from chalicelib.schemas.field_types import context_text
from chalicelib.schemas.merchants import CreateMerchant, UpdateMerchant
from chalicelib.services import outbox, pictures
from chalicelib.services.admission import admit
from chalicelib.store import merchants, sequences
from chalicelib.store import outbox as outbox_store
from chalicelib.store.optimistic import retry_on_change


def create(body: CreateMerchant, caller: Caller, now: datetime) -> Merchant:
    """A new merchant with its three terminal groups."""
    admitted = admit(caller, current_account_id=body.current_account_id)
    permissions.create_merchants(admitted.agent)

    merchant_id = sequences.next_id(merchants.TABLE)
    merchant = Merchant(
        id=merchant_id,
        groups=_groups(),
        created_at=now,
        financial_institution_id=body.f_inst_id,
        manager=body.client_manager.manager(),
        gmt=body.gmt,
        currency_id=currency_of(body.country_code),
        mobile_settings=merged(None, body.mobile_settings.sent()) if body.mobile_settings else None,
        request_context=context_text(body),
        **body.values(),
        **pictures.keep(body.image_avatar, f"merchants/{merchant_id}"),
    )

    mail = [messages.welcome_merchant(secrets.token_hex(16), merchant, now)] if body.send_welcome_email else []

    merchants.create(merchant, Act("create", caller.agent_id, now), *map(outbox_store.put, mail))
    outbox.send(mail, now)
    return merchant


def update(body: UpdateMerchant, caller: Caller, merchant_id: int, now: datetime) -> Merchant:
    """The merchant with what was sent over it; somebody else's change at the same time is kept too."""

    def attempt() -> Merchant:
        admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
        permissions.manage(admitted.agent, merchant_id)
        before = existing(admitted.others[0])
        same_as_path("id", body.id, merchant_id)

        after = replace(before, version=before.version + 1, **_sent(body, before))

        if changed(before, after):
            merchants.change(before, after, Act("update", caller.agent_id, now))
            return after
        return before

    return retry_on_change(attempt)


def existing(merchant: Merchant | None) -> Merchant:
    """The merchant of a path, or 561."""
    if merchant is None or merchant.deleted:
        raise ServiceError(ErrorCode.MERCHANT_NOT_FOUND)
    return merchant


def same_as_path(field: str, given: int | None, path: int) -> None:
    """204 when a field of the body names another object than the path."""
    if given not in (None, path):
        finding = Finding(field, Check.PATH_AND_BODY_DIFFER, f"The path says {path}.")
        raise ServiceError(ErrorCode.PATH_AND_BODY_DIFFER, validations=(finding,))


def _groups() -> tuple[TerminalGroup, ...]:
    numbers = sequences.next_ids("groups", len(DEFAULT_GROUPS))
    return tuple(TerminalGroup(number, code) for number, code in zip(numbers, DEFAULT_GROUPS, strict=True))


def _sent(body: UpdateMerchant, before: Merchant) -> dict[str, Any]:
    values = body.values() | {"currency_id": currency_of(body.country_code)}
    settings = before.mobile_settings
    if body.mobile_settings:
        settings = merged(settings, body.mobile_settings.sent(), body.mobile_settings.cleared())
    if body.barcode_scanner is not None:
        settings = merged(settings, MobileSettings(barcode_scanner=body.barcode_scanner))
    picture = pictures.keep(body.image, f"merchants/{before.id}")
    return values | {"mobile_settings": settings} | picture
