"""Pictures in object storage. The bucket is never public: a picture is shown through an address that expires."""

from functools import cache
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.domain.picture import Picture
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.settings import settings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

EXPIRES_S = 900


def put(name: str, picture: Picture) -> None:
    """Keep a picture; 903 when the storage is out of reach."""
    try:
        _client().put_object(Bucket=settings().bucket, Key=name, Body=picture.content, ContentType=picture.media_type)
    except (BotoCoreError, ClientError) as error:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY) from error


def signed_url(name: str) -> str:
    """An address of the picture that is good for a quarter of an hour. Nobody is asked: it is computed here."""
    return _client().generate_presigned_url(
        "get_object", Params={"Bucket": settings().bucket, "Key": name}, ExpiresIn=EXPIRES_S
    )


@cache
def _client() -> "S3Client":
    config = Config(
        connect_timeout=1,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": 3},
        signature_version="s3v4",  # what objects under a KMS key are read with
        s3={"addressing_style": "virtual"},  # the bucket's regional host: signed for another, an address is refused
    )
    return boto3.client("s3", config=config)
