"""Create and update merchants."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import permissions
from chalicelib.domain.agent import BLOCKED, Caller, MobileSettings
from chalicelib.domain.effective_settings import merge_settings
from chalicelib.domain.merchant import GROUPS, Merchant, TerminalGroup
from chalicelib.domain.welcome import welcome_merchant
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid_references
from chalicelib.schemas.merchants import NORMAL, CreateMerchant, MerchantProfile, MerchantView, UpdateMerchant
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.shown_size import check_shown
from chalicelib.services import message_limits, pictures
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.creations import Created, Once, require_created
from chalicelib.settings import settings
from chalicelib.store import merchant_changes, merchants, sequences, terminals
from chalicelib.store.audit import Act, changed_fields
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import Write

# The place of a merchant is that of its creation: country, zone and language are content.
CONTEXT = frozenset(Context.model_fields) - {"country", "country_code", "gmt", "lang"}


def create(body: CreateMerchant, caller: Caller, now: datetime, *, key: str | None = None) -> Created[MerchantProfile]:
    """Create a merchant with its three terminal groups.

    `key` is the Idempotency-Key header: raise ID_REUSED when it was used with other content.
    """
    once = Once.of("merchant", key, caller, body, CONTEXT)

    def attempt() -> Created[MerchantProfile]:
        admitted = admit(caller, *once.keys, current_account_id=body.current_account_id)
        permissions.check_is_system_user(admitted.agent)
        body.check_readable()
        if first := once.first(admitted):
            merchant = require_created(merchants.key(first.id), ErrorCode.MERCHANT_NOT_FOUND)
            return Created(profile_of(merchant, terminals.only_one(merchant.id)), first.withheld, replayed=True)

        merchant_id = sequences.next_id(merchants.TABLE)
        picture = pictures.store_picture(body.image_avatar, f"merchants/{merchant_id}")
        merchant = Merchant(id=merchant_id, groups=_new_groups(), created_at=now, **body.record_fields(), **picture)
        check_shown(MerchantView.of(profile_of(merchant, None)), body)
        welcome = welcome_merchant(secrets.token_hex(16), merchant, now)

        def store(*message: Write) -> None:
            withheld = bool(body.send_welcome_email and not message)
            first = once.writes(merchant_id, now, withheld=withheld)
            merchant_changes.create(merchant, Act("create", caller.agent_id, now), *first, *message)

        withheld = message_limits.store_welcomed(store, welcome if body.send_welcome_email else None, caller.agent_id)
        return Created(profile_of(merchant, None), withheld)

    return retry_on_change(attempt)


def profile_of(merchant: Merchant, terminal_id: int | None) -> MerchantProfile:
    """Return what is shown of a merchant. `terminal_id` is its terminal, if it has exactly one."""
    number, url = merchant.financial_institution_id, pictures.signed_url(merchant.avatar_key)
    institution = settings().institutions.get(number, str(number))
    return MerchantProfile(merchant, institution, terminal_id, len(settings().partners), url)


def get(caller: Caller, merchant_id: int) -> MerchantProfile:
    """Return a merchant."""
    admitted = admit(caller, merchants.key(merchant_id))
    permissions.check_can_manage(admitted.agent, merchant_id)
    return profile_of(require_merchant(admitted, merchant_id), terminals.only_one(merchant_id))


def update(body: UpdateMerchant, caller: Caller, merchant_id: int, now: datetime) -> MerchantProfile:
    """Update the fields that the request sets. Concurrent changes of other fields are kept.

    A system user's request may have no other fields.
    """

    def attempt() -> MerchantProfile:
        admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
        permissions.check_can_manage(admitted.agent, merchant_id)
        before = require_merchant(admitted, merchant_id)
        if admitted.agent.is_system_user:
            body.let_fields_be_absent(before.country_code)
            if body.readable("current_account_id") not in (None, caller.agent_id):
                raise ServiceError(ErrorCode.NOT_THE_CALLER)
        if differs := check_same_as_path("id", body.readable("id"), merchant_id):
            raise invalid_references(*differs)
        body.check_readable()
        if (refused := _of_system_users(body, before)) and not permissions.can_block_merchants(admitted.agent):
            raise ServiceError(ErrorCode.ROLE_MAY_NOT, validations=refused)
        terminal_id = terminals.only_one(merchant_id)

        after = replace(before, **_changes(body, before))
        profile = profile_of(after, terminal_id)

        if changed_fields(before, after):
            check_shown(MerchantView.of(profile), body)
            merchant_changes.change(before, after, Act("update", caller.agent_id, now))
        return profile

    return retry_on_change(attempt)


def _of_system_users(body: UpdateMerchant, before: Merchant) -> tuple[Finding, ...]:
    """Return a finding for each field that only a system user may change so."""
    changes = {
        "state": body.state == BLOCKED,
        "client_importance": body.client_importance not in (None, before.client_importance or NORMAL),
    }
    message = "Only a system user changes it so."
    return tuple(Finding(name, Check.OUT_OF_RANGE, message) for name, is_change in changes.items() if is_change)


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
