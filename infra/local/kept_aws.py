"""Data of moto that a folder keeps: the KMS key, the stage's secrets and the objects of the bucket.

Without the same key, the secret keys of agents cannot be decrypted. Without the same secrets, no secret key, session or
JSON web token is accepted. E-mails and messages are not kept.
"""

import contextlib
import mimetypes
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import boto3
from moto.s3.models import S3Backend
from moto.secretsmanager.models import SecretsManagerBackend

from infra.local import engines
from infra.local.data_folder import DataFolder

SECRET, DIGEST_KEYS = (engines.environment()[name] for name in ("SECRET_ID", "DIGEST_SECRET_ID"))
SECRET_WRITERS = ("put_secret_value", "update_secret", "update_secret_version_stage")


@contextlib.contextmanager
def kept_in(folder: DataFolder) -> Iterator[None]:
    """Give moto the key, secrets and objects of the folder. Store changes in the folder until the block ends."""
    _use_key(folder)
    _use_secrets(folder)
    _use_files(folder)
    engines.clear_caches()
    with contextlib.ExitStack() as stack:
        for name in SECRET_WRITERS:
            writer = _storing_secret(getattr(SecretsManagerBackend, name), folder)
            stack.enter_context(patch.object(SecretsManagerBackend, name, writer))
        stack.enter_context(patch.object(S3Backend, "put_object", _storing_file(S3Backend.put_object, folder)))
        stack.enter_context(patch.object(S3Backend, "delete_object", _deleting_file(S3Backend.delete_object, folder)))
        yield


def _use_key(folder: DataFolder) -> None:
    client = boto3.client("kms")
    with (
        patch("moto.kms.models.generate_key_id", lambda _multi_region: folder.key_id),
        patch("moto.kms.models.generate_master_key", lambda: folder.key_material),
    ):
        client.create_key()
    client.update_alias(AliasName=engines.environment()["KEY_ID"], TargetKeyId=folder.key_id)


def _use_secrets(folder: DataFolder) -> None:
    if folder.secret is None:
        _store_secrets(folder)
    for name, text in ((SECRET, folder.secret), (DIGEST_KEYS, folder.digest_keys)):
        boto3.client("secretsmanager").put_secret_value(SecretId=name, SecretString=text or "{}")


def _use_files(folder: DataFolder) -> None:
    client = boto3.client("s3")
    for name, content in folder.stored_files():
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        client.put_object(Bucket=engines.environment()["BUCKET"], Key=name, Body=content, ContentType=media_type)


def _storing_secret(write: Callable[..., Any], folder: DataFolder) -> Callable[..., Any]:
    def write_and_store(*args: Any, **kwargs: Any) -> Any:
        result = write(*args, **kwargs)
        _store_secrets(folder)
        return result

    return write_and_store


def _store_secrets(folder: DataFolder) -> None:
    client = boto3.client("secretsmanager")
    texts = (client.get_secret_value(SecretId=name)["SecretString"] for name in (SECRET, DIGEST_KEYS))
    folder.store_secret(*texts)


def _storing_file(put: Callable[..., Any], folder: DataFolder) -> Callable[..., Any]:
    def put_and_store(backend: S3Backend, bucket_name: str, key_name: str, value: bytes, *args: Any, **kw: Any) -> Any:
        result = put(backend, bucket_name, key_name, value, *args, **kw)
        if bucket_name == engines.environment()["BUCKET"]:
            folder.store_file(key_name, value)
        return result

    return put_and_store


def _deleting_file(delete: Callable[..., Any], folder: DataFolder) -> Callable[..., Any]:
    def delete_and_forget(backend: S3Backend, bucket_name: str, key_name: str, *args: Any, **kw: Any) -> Any:
        result = delete(backend, bucket_name, key_name, *args, **kw)
        if bucket_name == engines.environment()["BUCKET"] and backend.get_object(bucket_name, key_name) is None:
            folder.delete_file(key_name)
        return result

    return delete_and_forget
