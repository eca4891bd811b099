"""Create and update merchants."""

import secrets
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from chalicelib.domain import permissions
from chalicelib.domain.agent import BLOCKED, Caller, MobileSettings
from chalicelib.domain.effective_settings import merge_settings
from chalicelib.domain.merchant import GROUPS, Merchant, TerminalGroup
from chalicelib.domain.welcome import welcome_merchant
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid_references
from chalicelib.schemas.merchants import CreateMerchant, MerchantProfile, UpdateMerchant
from chalicelib.services import message_limits, pictures
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.settings import settings
from chalicelib.store import merchants, sequences, terminals
from chalicelib.store.audit import Act, changed_fields
from chalicelib.store.retries import retry_on_change


def create(body: CreateMerchant, caller: Caller, now: datetime) -> tuple[MerchantProfile, bool]:
    """Create a merchant with its three terminal groups. Return it, and whether its welcome e-mail was withheld."""
    admitted = admit(caller, current_account_id=body.current_account_id)
    permissions.check_can_create_merchants(admitted.agent)
    body.check_readable()

    merchant_id = sequences.next_id(merchants.TABLE)
    picture = pictures.store_picture(body.image_avatar, f"merchants/{merchant_id}")
    merchant = Merchant(id=merchant_id, groups=_new_groups(), created_at=now, **body.record_fields(), **picture)
    welcome = welcome_merchant(secrets.token_hex(16), merchant, now)
    store = partial(merchants.create, merchant, Act("create", caller.agent_id, now))

    withheld = message_limits.store_welcomed(store, welcome if body.send_welcome_email else None, caller.agent_id)
    return _profile(merchant, None), withheld


def _profile(merchant: Merchant, terminal_id: int | None) -> MerchantProfile:
    number, url = merchant.financial_institution_id, pictures.signed_url(merchant.avatar_key)
    institution = settings().institutions.get(number, str(number))
    return MerchantProfile(merchant, institution, terminal_id, len(settings().partners), url)


def update(body: UpdateMerchant, caller: Caller, merchant_id: int, now: datetime) -> MerchantProfile:
    """Update the fields that the request sets. Concurrent changes of other fields are kept."""

    def attempt() -> MerchantProfile:
        admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
        permissions.check_can_manage(admitted.agent, merchant_id)
        before = require_merchant(admitted, merchant_id)
        if differs := check_same_as_path("id", body.readable("id"), merchant_id):
            raise invalid_references(*differs)
        body.check_readable()
        if body.state == BLOCKED or body.client_importance is not None:
            permissions.check_can_block_merchant(admitted.agent)
        terminal_id = terminals.only_one(merchant_id)

        after = replace(before, **_changes(body, before))

        if changed_fields(before, after):
            merchants.change(before, after, Act("update", caller.agent_id, now))
            return _profile(after, terminal_id)
        return _profile(before, terminal_id)

    return retry_on_change(attempt)


def require_merchant(admitted: Admitted, merchant_id: int) -> Merchant:
    """Return the merchant of the path, or raise MERCHANT_NOT_FOUND when it is missing or deleted."""
    merchant = admitted.read(merchants.key(merchant_id))
    if merchant is None or merchant.deleted:
        raise ServiceError(ErrorCode.MERCHANT_NOT_FOUND)
    return merchant


def check_same_as_path(field: str, given: int | None, path: int) -> list[Finding]:
    """Return a finding when a field of the body names another record than the path does."""
    same = given in (None, path)
    return [] if same else [Finding(field, Check.PATH_AND_BODY_DIFFER, f"The path says {path}.")]


def _new_groups() -> tuple[TerminalGroup, ...]:
    numbers = sequences.next_ids("groups", len(GROUPS))
    return tuple(TerminalGroup(number, code) for number, code in zip(numbers, GROUPS, strict=True))


def _changes(body: UpdateMerchant, before: Merchant) -> dict[str, Any]:
    """Return the changed fields of the merchant's record, and store a new picture."""
    stored = before.mobile_settings
    if requested := body.mobile_settings:
        stored = merge_settings(stored, requested.to_domain(), requested.reset_fields())
    if body.barcode_scanner is not None:
        stored = merge_settings(stored, MobileSettings(barcode_scanner=body.barcode_scanner))
    picture = pictures.store_picture(body.image, f"merchants/{before.id}")
    return {**body.record_fields(), "mobile_settings": stored, **picture}
