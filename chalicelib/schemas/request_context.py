"""The request context (place, device, account), query strings, the Idempotency-Key, and requests with a card."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from chalicelib import exact_json
from chalicelib.domain.masking import Mask, mask_of, mask_value
from chalicelib.errors import Check, Validation, invalid
from chalicelib.schemas.base import Identifier, Latitude, Longitude, Request, State, Text, validated
from chalicelib.schemas.card import numbers_in

ZoneHours = Annotated[int, Field(ge=-12, le=14)]


class Location(Request):
    """A geographical position, in degrees."""

    latitude: Latitude
    longitude: Longitude


class DeviceInfo(Request):
    """The caller's device."""

    phone_manufacturer: Text | None = None
    phone_model: Text | None = None
    device_id: Text | None = None
    device_type: Text | None = None
    app_framework: Text | None = None
    os: Text | None = None
    os_version: Text | None = Field(None, alias="OSVersion")
    app_id: Text | None = None
    build_number: Text | None = None


class ZoneQuery(Request):
    """The query string of a GET: the zone of the times in its answer."""

    gmt: ZoneHours | None = None


class Context(Request):
    """The common request context. A subclass makes the fields that its operation needs required."""

    location: Location | None = None
    country: Text | None = None
    country_code: Text | None = None
    device_info: DeviceInfo | None = None
    gmt: ZoneHours | None = None
    app_framework: Text | None = None
    lang: Text | None = None
    ip: Text | None = None
    current_account_id: Identifier | None = None


NOT_MASKED = ("Card", "Files")
JSON_TEXT = "ExtTransData"


class RequestWithCard(Context):
    """A request that may name a card. Its texts may repeat the card's number."""

    _sent: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_sent(cls, data: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        request = read(data)
        request._sent = data if isinstance(data, dict) else {}  # noqa: SLF001  its own
        return request

    def with_card_number_in_card_only(self) -> Self:
        """Return the request with its card number masked outside the card fields, because some texts are stored.

        Call it after the caller is admitted. Raise VALIDATION_FAILED when a masked number does not fit its field.
        """
        card = self._sent.get("Card")
        numbers = numbers_in(card) if card else ()
        if not numbers:
            return self
        mask = mask_of(numbers)
        kept = self.model_dump(by_alias=True, exclude_unset=True, exclude={"card", "files"})  # no unknown fields
        if isinstance(addresses := self._sent.get("Receipt"), dict):  # with placeholders: findings count them
            kept["Receipt"] = {name: addresses[name] for name in kept["Receipt"] if name in addresses}
        masked = _with_masked_json(mask_value(kept, mask), kept, mask)
        if masked == kept:
            return self
        return validated(type(self), masked | {name: self._sent[name] for name in NOT_MASKED if name in self._sent})


def _with_masked_json(masked: dict[str, Any], sent: dict[str, Any], mask: Mask) -> dict[str, Any]:
    """Return the masked request with its JSON text masked value by value, so that it remains JSON."""
    basic = sent.get("BasicTran")
    text = basic.get(JSON_TEXT) if isinstance(basic, dict) else None
    if not text:
        return masked
    value = exact_json.read(text)
    hidden = mask_value(value, mask)
    kept = text if hidden == value else exact_json.text(hidden)
    return masked | {"BasicTran": masked["BasicTran"] | {JSON_TEXT: kept}}


MAX_LENGTH = 255


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Return the Idempotency-Key of a request, None without one; 202 unless it has 1 to 255 printable characters."""
    key = headers.get("idempotency-key", "").strip()
    if len(key) > MAX_LENGTH or not (key.isascii() and key.isprintable()):
        message = f"1 to {MAX_LENGTH} printable characters (ASCII) are expected."
        raise invalid(Validation("Idempotency-Key", Check.FORMAT, message))
    return key or None


class HealthQuery(Request):
    """The query of the health check. Without `deep`, it checks only that the function answers."""

    deep: State = Field(0, alias="deep")
