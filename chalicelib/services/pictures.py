"""Pictures of merchants and agents, photos and signatures of payments: store them, and show them by a signed URL."""

from collections.abc import Sequence
from typing import Any

from chalicelib.domain.transaction import Pictures
from chalicelib.gateways import files
from chalicelib.schemas.field_types import Image
from chalicelib.schemas.payments import PictureFile


def store_picture(image: Image | None, owner: str) -> dict[str, Any]:
    """Store the picture of a request, if any, and return the changed fields of its owner's record ("merchants/7").

    The picture is stored before the record, so no record names a missing picture.
    """
    if image is None:
        return {}
    name = image.data.name(owner)
    files.put(name, image.data)
    return {"avatar_key": name}


def store_files(requested: Sequence[PictureFile], transaction_id: str) -> Pictures:
    """Store the photo and the signature of a payment, and return the names of their files.

    Each name holds a digest of the content, so a repeated request with other pictures overwrites nothing.
    """
    names = {}
    for file in requested:
        name = file.file_code.name(f"transactions/{transaction_id}")
        files.put(name, file.file_code)
        names[f"{file.file_type.lower()}_key"] = name
    return Pictures(**names)


def signed_url(name: str | None) -> str | None:
    """Return the signed URL of the stored picture with this name, or None without a name."""
    return files.signed_url(name) if name else None
