"""A picture: a PNG or JPEG, recognized by its content."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass, field

MEGABYTE = 1024 * 1024
MAX_BYTES = MEGABYTE  # for a picture of a merchant or an agent
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
HEADER_CHUNK = slice(12, 16)  # the PNG standard: the first chunk is IHDR


class NotAPictureError(ValueError):
    """The text is not the base64 of a PNG or JPEG."""


class TooLargeError(ValueError):
    """The picture is larger than allowed."""


@dataclass(frozen=True)
class Picture:
    """A picture for the object storage."""

    content: bytes = field(repr=False)
    media_type: str

    def name(self, owner: str) -> str:
        """Return the name of its file: owner and digest, so that no other picture overwrites it."""
        return f"{owner}/{hashlib.sha256(self.content).hexdigest()[:32]}.{self.media_type.removeprefix('image/')}"


DATA_PREFIX = re.compile(r"\s*data:[^,;]{0,99}(;[^,;]{0,99}){0,9};base64,", re.IGNORECASE)  # of a data URL (RFC 2397)
URL_SAFE = str.maketrans("-_", "+/")  # the other alphabet of RFC 4648
PADDING = re.compile("={0,2}$")


def picture_of(text: str, max_bytes: int = MAX_BYTES) -> Picture:
    """Return the picture in a base64 text; raise TooLargeError or NotAPictureError.

    The text may have blanks and line breaks, either alphabet, no padding, and the beginning of a data URL.
    """
    prefix = DATA_PREFIX.match(text)
    compact = "".join(text[prefix.end() if prefix else 0 :].split())
    if len(compact) > (max_bytes + 2) // 3 * 4:
        raise TooLargeError
    compact = PADDING.sub("", compact.translate(URL_SAFE))
    try:
        content = base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise NotAPictureError from None
    if len(content) > max_bytes:
        raise TooLargeError
    if content.startswith(PNG) and content[HEADER_CHUNK] == b"IHDR":
        return Picture(content, "image/png")
    if content.startswith(JPEG):
        return Picture(content, "image/jpeg")
    raise NotAPictureError
