"""A request of which a record is made: what is stored of it, and what is not."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import model_validator

from chalicelib import exact_json
from chalicelib.domain.masking import mask_value
from chalicelib.errors import Check
from chalicelib.schemas.base import problem
from chalicelib.schemas.card import numbers_in
from chalicelib.schemas.request_context import Context

MAX_RAW_REQUEST = 64 * 1024
TOO_LONG = "The parts of the request that are kept exceed 64 KB."
NEVER_STORED: Mapping[str, Any] = {"card": True, "files": True, "acq_tran": {"additional_acquiring_fields"}}


class StoredRequest(Context):
    """A request of which a record is made; it is stored beside the record, without its card and what may hold one."""

    @model_validator(mode="before")
    @classmethod
    def _card_number_in_card_alone(cls, data: Any) -> Any:
        """Mask the request's card number wherever else it stands: what a till repeats in a text is stored."""
        numbers = numbers_in(data.get("Card")) if isinstance(data, dict) else ()
        if not numbers:
            return data
        kept = {"Card", "Files"}
        return {name: part if name in kept else mask_value(part, numbers) for name, part in data.items()}

    @cached_property
    def raw_request(self) -> str:
        """Return what is stored of it, as JSON text."""
        return exact_json.text(self.model_dump(by_alias=True, exclude_unset=True, exclude=dict(NEVER_STORED)))

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if len(self.raw_request.encode()) > MAX_RAW_REQUEST:
            raise problem(Check.TOO_LONG, TOO_LONG)
        return self
