"""Files in object storage. The bucket is never public: files are shown through URLs that expire."""

from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chalicelib import outside
from chalicelib.domain.picture import Picture
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.settings import settings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

EXPIRES_S = 900
CSV, PLAIN_TEXT = "text/csv; charset=utf-8", "text/plain; charset=utf-8"


def put(name: str, picture: Picture) -> None:
    """Store a picture; raise 903 when the storage is unreachable."""
    _put(Key=name, Body=picture.content, ContentType=picture.media_type)


def put_export(name: str, content: IO[bytes], file_name: str, media_type: str = CSV) -> None:
    """Store an exported file, which browsers save as `file_name`; raise 903 when the storage is unreachable.

    The content is sent from the file, so it need not fit in memory.
    """
    disposition = f'attachment; filename="{file_name}"'
    _put(Key=name, Body=content, ContentType=media_type, ContentDisposition=disposition, CacheControl="no-store")


def _put(**parameters: Any) -> None:
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  only needed for a file

    try:
        _client().put_object(Bucket=settings().bucket, **parameters)
    except (BotoCoreError, ClientError) as error:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from error


@lru_cache(maxsize=16)  # a name contains a digest, so its content never changes
def get(name: str) -> bytes:
    """Return a stored picture within three seconds; raise ClientError or BotoCoreError."""
    with _client(attempts=1, read_seconds=2).get_object(Bucket=settings().bucket, Key=name)["Body"] as body:
        return body.read()


def signed_url(name: str) -> str:
    """Return a URL of the file that is valid for 15 minutes. It is computed without a call."""
    return _client().generate_presigned_url(
        "get_object", Params={"Bucket": settings().bucket, "Key": name}, ExpiresIn=EXPIRES_S
    )


def origin() -> str:
    """Return the origin of the signed URLs; raise 903 without credentials."""
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  only needed for a file

    try:
        parts = urlsplit(signed_url("any"))
    except BotoCoreError as error:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from error
    return f"{parts.scheme}://{parts.netloc}"


@outside.made_once
def _client(attempts: int = 3, read_seconds: float = 5) -> "S3Client":
    client: S3Client = outside.current.boto3_client(
        "s3",
        attempts=attempts,
        read_seconds=read_seconds,
        signature_version="s3v4",  # S3 requires it for objects encrypted under a KMS key
        s3={"addressing_style": "virtual"},  # the bucket's regional host: S3 refuses a URL signed for another
    )
    return client
