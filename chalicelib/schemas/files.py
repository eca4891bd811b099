"""The photo and the signature that may be sent with a payment."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator

from chalicelib.domain.picture import MEGABYTE, Picture
from chalicelib.errors import Check
from chalicelib.schemas.base import Request, problem
from chalicelib.schemas.field_types import BASE64, parse_picture

MAX_FILE_MB = 3


def _file(value: Any) -> Picture:
    return parse_picture(value, MAX_FILE_MB * MEGABYTE)


class PictureFile(Request):
    """A photo or a signature taken with the payment."""

    file_type: Literal["PHOTO", "SIGNATURE"]
    file_code: Annotated[Picture, PlainValidator(_file), BASE64] = Field(repr=False)


def _one_of_each(files: list[PictureFile]) -> list[PictureFile]:
    if len({file.file_type for file in files}) < len(files):
        raise problem(Check.TWICE, "A payment has one photo and one signature.")
    return files


Files = Annotated[list[PictureFile], Field(max_length=5), AfterValidator(_one_of_each)]
