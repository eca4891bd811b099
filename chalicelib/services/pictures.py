"""Pictures: of merchants and agents, and the photo and signature of a payment."""

from collections.abc import Sequence
from typing import Any

from chalicelib.gateways import files
from chalicelib.schemas.field_types import Image
from chalicelib.schemas.files import File


def keep(image: Image | None, owner: str) -> dict[str, Any]:
    """Keep the picture, if one was sent: what changes in the record of its owner ("merchants/7").

    It is kept before the record: whatever happens in between, no record names a picture that is not there.
    """
    if image is None:
        return {}
    name = image.data.name(owner)
    files.put(name, image.data)
    return {"avatar_key": name}


def keep_files(sent: Sequence[File], transaction_id: str) -> dict[str, Any]:
    """Keep the photo and the signature of a payment: what they are in its record.

    Their names hold a digest of their content: a repeated request with other pictures overwrites nothing.
    """
    kept = {}
    for file in sent:
        name = file.file_code.name(f"transactions/{transaction_id}")
        files.put(name, file.file_code)
        kept[f"{file.file_type.lower()}_key"] = name
    return kept


def address(name: str | None) -> str | None:
    """The signed address of a picture that is kept under this name."""
    return files.signed_url(name) if name else None
