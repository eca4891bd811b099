import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest

from chalicelib.services import lane_runner
from chalicelib.store.table import client
from infra.local import aws_server, engines, ports, stage
from infra.stack import resources

pytestmark = pytest.mark.slow

SEQUENCES = f"{resources.STACK}-sequences"

each_engine = pytest.mark.parametrize("engine_name", stage.ENGINES, indirect=True, scope="session")


def count_to(total: int, name: str) -> None:
    client = boto3.client("dynamodb")

    def add(_: int) -> None:
        client.update_item(
            TableName=SEQUENCES,
            Key={"name": {"S": name}},
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads are switched often enough for a lost update to be certain
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(total)))
    sys.setswitchinterval(interval)
    item = client.get_item(TableName=SEQUENCES, Key={"name": {"S": name}}, ConsistentRead=True)["Item"]
    assert item["n"]["N"] == str(total)


@each_engine
def test_eight_threads_lose_no_update(engine: str) -> None:
    count_to(400, f"threads-{engine}")


@each_engine
def test_an_engine_holds_the_keys_and_indexes_of_the_definition(engine: str) -> None:
    del engine
    client = boto3.client("dynamodb")

    for arguments in resources.create_table_arguments(resources.STACK):
        table = client.describe_table(TableName=arguments["TableName"])["Table"]
        assert table["KeySchema"] == arguments["KeySchema"]
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            found = {item["IndexName"]: item["KeySchema"] for item in table.get(kind, [])}  # type: ignore[attr-defined]
            assert found == {item["IndexName"]: item["KeySchema"] for item in arguments.get(kind, [])}


def test_a_free_port_is_taken_by_no_outgoing_connection() -> None:
    port = ports.free_port()

    with socket.create_server((ports.HOST, port)), socket.create_connection((ports.HOST, port)) as connection:
        assert port in ports.PORTS
        assert connection.getsockname()[1] not in ports.PORTS
        assert ports.free_port() != port


COUNT_TABLES = """
import boto3
from infra.local import engines
from infra.stack import resources

with engines.moto_engine():
    put = {"Put": {"TableName": resources.STACK + "-sequences", "Item": {"name": {"S": "one"}}}}
    for _ in range(3):
        boto3.client("dynamodb").transact_write_items(TransactItems=[put])
    from moto.dynamodb.models.table import Item, Table
    print(len(Table.instances_tracked), len(Item.instances_tracked))
"""


def test_moto_remembers_no_table_that_a_transaction_copied() -> None:
    """A process of its own: in this one moto's models may be loaded, as they are not when the stage starts."""
    ended = subprocess.run([sys.executable, "-c", COUNT_TABLES], capture_output=True, text=True, check=True)

    assert ended.stdout == "0 0\n"


def test_dynamodb_local_does_not_listen_on_the_network(dynamodb_local_url: str) -> None:
    if not engines.is_closed_to_the_network():
        pytest.skip("Java has no compiler here")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
        try:
            outward.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no network")
        own_address = outward.getsockname()[0]

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((own_address, urlsplit(dynamodb_local_url).port or 0), timeout=5)


@pytest.mark.parametrize("name", stage.ENGINES)
def test_sessions_expire_on_both_engines(name: str, request: pytest.FixtureRequest) -> None:
    with contextlib.ExitStack() as stack:
        if name == "moto":
            request.getfixturevalue("moto")
            url = None
        else:
            request.getfixturevalue("dynamodb_local_url")  # without it DynamoDB Local cannot run here
            url = stack.enter_context(engines.dynamodb_local())
        client = boto3.client("dynamodb", endpoint_url=url)
        answer = client.describe_time_to_live(TableName=f"{resources.STACK}-sessions")

    assert answer["TimeToLiveDescription"]["AttributeName"] == "expires_at"


@each_engine
def test_what_is_stored_in_one_engine_is_not_in_the_other(engine: str) -> None:
    client = boto3.client("dynamodb")
    client.put_item(TableName=SEQUENCES, Item={"name": {"S": f"only-{engine}"}})

    (other,) = {"moto", "dynamodb-local"} - {engine}
    assert "Item" not in client.get_item(TableName=SEQUENCES, Key={"name": {"S": f"only-{other}"}})


@pytest.mark.usefixtures("moto")
def test_the_key_the_bucket_and_the_secret_are_where_the_settings_say() -> None:
    kms, s3, secrets = boto3.client("kms"), boto3.client("s3"), boto3.client("secretsmanager")
    cipher = kms.encrypt(KeyId=os.environ["KEY_ID"], Plaintext=b"a")["CiphertextBlob"]

    assert kms.decrypt(CiphertextBlob=cipher)["Plaintext"] == b"a"
    assert s3.head_bucket(Bucket=os.environ["BUCKET"])
    assert (
        len(json.loads(secrets.get_secret_value(SecretId=os.environ["SECRET_ID"])["SecretString"])["digest_key"]) == 64
    )


@each_engine
def test_another_process_sees_the_same_aws_over_http(engine: str) -> None:
    boto3.client("dynamodb").put_item(TableName=SEQUENCES, Item={"name": {"S": f"http-{engine}"}})

    with aws_server.serve(ports.free_port()) as url:
        outside = boto3.client("dynamodb", endpoint_url=url)
        item = outside.get_item(TableName=SEQUENCES, Key={"name": {"S": f"http-{engine}"}})
        buckets = boto3.client("s3", endpoint_url=url).list_buckets()["Buckets"]
        outside.close()

    assert item["Item"] == {"name": {"S": f"http-{engine}"}}
    assert [bucket["Name"] for bucket in buckets] == [os.environ["BUCKET"]]


@pytest.mark.usefixtures("moto")
def test_on_moto_requests_do_not_queue_with_the_threads_of_a_sweep() -> None:
    threads = {
        name: threading.Thread(target=lambda: client().call("ListTables"), name=name, daemon=True)
        for name in (f"{lane_runner.THREAD_NAME}_1", "request")
    }

    with engines.SWEEP_LOCK:  # another thread of the sweep is about to call
        for thread in threads.values():
            thread.start()
        threads["request"].join(timeout=20)
        waiting = [name for name, thread in threads.items() if thread.is_alive()]
    threads["sweep_1"].join(timeout=20)

    assert waiting == ["sweep_1"]
    assert not threads["sweep_1"].is_alive()


def test_without_its_jar_dynamodb_local_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "ENGINES_DIR", tmp_path)

    with pytest.raises(engines.EngineMissingError, match="make tools"), engines.dynamodb_local():
        pass


def test_dynamodb_local_ends_with_the_process_that_started_it(dynamodb_local_url: str) -> None:
    del dynamodb_local_url  # without it DynamoDB Local cannot run here
    program = "import infra.local.engines as e\nwith e.dynamodb_local() as url: print(url, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        port = int(parent.stdout.readline().decode().strip().rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port)).close()

        parent.kill()

        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                return
            time.sleep(0.1)
    pytest.fail("it still listens")
