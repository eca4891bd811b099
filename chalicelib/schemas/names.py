"""Names that people give, such as a merchant's: people can see them, and they fit on a line."""

import unicodedata
from typing import Annotated

from pydantic import Field

from chalicelib.domain.transaction import INVISIBLE_LETTERS
from chalicelib.errors import Check
from chalicelib.schemas.base import checked


def _is_visible(name: str) -> bool:
    """Return whether a name has at least one visible character."""
    return any(one not in INVISIBLE_LETTERS and unicodedata.category(one)[0] not in "CZM" for one in name)


def _has_no_control(name: str) -> bool:
    return not any(unicodedata.category(one) in CONTROLS for one in name)


CONTROLS = ("Cc", "Zl", "Zp")  # Unicode's categories of control characters and line separators
VISIBLE = checked(_is_visible, Check.OUT_OF_RANGE, "At least one visible character is expected.")
NO_CONTROL = checked(_has_no_control, Check.FORMAT, "A name without control characters is expected.")
Name = Annotated[str, Field(min_length=1, max_length=256), VISIBLE, NO_CONTROL]
