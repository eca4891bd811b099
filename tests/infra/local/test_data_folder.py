"""What a local stage with DATA keeps: the whole service is started, killed, and started again on the same folder."""

import base64
import json
import re
import signal
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import jwt
import pytest

from chalicelib.settings import settings
from infra.demo import data as demo_data
from infra.local import engines, ports
from infra.local.data_folder import DataFolder, DataFolderError, open_folder
from infra.local.kept_aws import kept_in
from infra.operator import stage_secret
from infra.stack import resources
from tests.infra.local.stages import a_stage, refusal_of, url_of
from tests.support import http
from tests.support.builders import PNG
from tests.support.transactions import a_body

ACCOUNT = "/api/v1/payment/AuthAccount"
SUBMIT = "/api/v1/payment/submit"
SIGN_IN = "/api/v1/user/login/session"
NEW_SIGNING_SECRET = "a signing secret that an operator made"  # noqa: S105  of a test
PHOTO = {"FileType": "PHOTO", "FileCode": base64.b64encode(PNG).decode()}
ON_FOLDER = {"ENGINE": "dynamodb-local"}


@dataclass
class Runs:
    """Two runs of a stage on one folder: what the first did, and where the second is."""

    folder: Path
    body: dict[str, Any] = field(default_factory=dict)
    first_reply: http.Reply | None = None
    account: dict[str, Any] = field(default_factory=dict)
    session: str = ""
    shown_agent: dict[str, Any] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def payment(self) -> dict[str, Any]:
        assert self.first_reply
        transaction: dict[str, Any] = self.first_reply.body["Transaction"]
        return transaction

    @property
    def agent_path(self) -> str:
        return f"/api/v1/merchant/{self.account['ClientID']}/pos/{self.account['ID']}"


def first_run(runs: Runs, url: str, aws_url: str) -> None:
    runs.body = {**a_body(), "Files": [PHOTO]}
    runs.first_reply = http.post(url, SUBMIT, runs.body, http.TILL)  # a logon, which is shown
    runs.account = http.get(url, ACCOUNT).body
    runs.shown_agent = http.get(url, runs.agent_path, http.OWNER).body
    owner = {"Email": http.OWNER[0], "Password": http.OWNER[1]}
    runs.session = http.post(url, SIGN_IN, owner, None).body["Data"]["SessionID"]
    client = boto3.client("secretsmanager", endpoint_url=aws_url)
    document = json.loads(client.get_secret_value(SecretId=engines.environment()["SECRET_ID"])["SecretString"])
    document["signing"].insert(0, NEW_SIGNING_SECRET)
    client.put_secret_value(SecretId=engines.environment()["SECRET_ID"], SecretString=json.dumps(document))
    client.close()


@pytest.fixture(scope="module")
def runs(dynamodb_local_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """A stage that was killed with -9 and started again."""
    del dynamodb_local_url  # without it DynamoDB Local cannot run here
    runs = Runs(tmp_path_factory.mktemp("stage") / "data")
    aws_port = str(ports.free_port())
    with a_stage(**ON_FOLDER, DATA=str(runs.folder), AWS_PORT=aws_port) as process:
        first_run(runs, url_of(process), f"http://127.0.0.1:{aws_port}")
        process.kill()
    with a_stage(**ON_FOLDER, DATA=str(runs.folder)) as process:
        runs.url = url_of(process, runs.printed)
        yield runs


@pytest.mark.parametrize("login", [http.TILL, http.TILL_BY_KEY, http.OWNER, http.SYSTEM], ids=lambda login: login[1])
def test_after_a_restart_every_login_is_accepted(runs: Runs, login: tuple[str, str]) -> None:
    path = runs.agent_path if login in {http.SYSTEM, http.OWNER} else f"/api/v1/payment/{runs.payment['ID']}"

    assert http.get(runs.url, path, login).error == (200, 0)


def test_after_a_restart_a_repeated_payment_is_replayed(runs: Runs) -> None:
    again = http.post(runs.url, SUBMIT, runs.body)

    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.body["TransactionID"] == runs.payment["ID"]


def test_after_a_restart_a_new_payment_is_taken_and_listed_with_the_old_one(runs: Runs) -> None:
    new = http.post(runs.url, SUBMIT, a_body()).body["Transaction"]

    listed = http.post(runs.url, "/api/v1/payment/listHistoryEx", {"ListBasicModel": {"Page": 1}}).body["Transactions"]

    assert {new["ID"], runs.payment["ID"]} <= {transaction["ID"] for transaction in listed}


def test_after_a_restart_the_secret_key_is_shown(runs: Runs) -> None:
    agent = http.get(runs.url, runs.agent_path, http.OWNER).body

    assert agent == runs.shown_agent
    assert demo_data.TILL_KEY in json.dumps(agent)


def test_after_a_restart_a_session_goes_on(runs: Runs) -> None:
    session = {"Authorization": f"Session {runs.session}"}

    assert http.call(runs.url, "GET", runs.agent_path, None, None, session).error == (200, 0)


@pytest.mark.parametrize("secret", [demo_data.SIGNING_SECRET, NEW_SIGNING_SECRET])
def test_after_a_restart_both_signing_secrets_are_accepted(runs: Runs, secret: str) -> None:
    email, password = http.OWNER
    token = {"Authorization": f"Jwt {jwt.encode({'email': email, 'token': password}, secret, 'HS256')}"}

    assert http.call(runs.url, "GET", runs.agent_path, None, None, token).error == (200, 0)


def test_after_a_restart_a_photo_is_shown(runs: Runs) -> None:
    path = f"/api/v1/payment/{runs.payment['ID']}"
    shown = http.get(runs.url, path).body["Transactions"][0]

    with urllib.request.urlopen(shown["PhotoUrl"], timeout=10) as response:
        assert (response.read(), response.headers["Content-Type"]) == (PNG, "image/png")


def test_the_demo_data_is_not_created_a_second_time(runs: Runs) -> None:
    listed = http.post(runs.url, f"{runs.agent_path.rpartition('/')[0]}/list", {}, http.OWNER).body["PosList"]

    assert sorted(agent["Email"] for agent in listed) == sorted([http.OWNER[0], http.TILL[0]])


def test_the_first_lines_say_where_the_data_is_kept(runs: Runs) -> None:
    assert f"Data is kept in {runs.folder}" in runs.printed[1]


def test_a_second_stage_on_the_folder_is_refused(runs: Runs) -> None:
    with a_stage(**ON_FOLDER, DATA=str(runs.folder)) as second:
        assert f"DATA={runs.folder} is in use by another local stage" in refusal_of(second)


def test_nobody_else_can_read_what_is_kept(runs: Runs) -> None:
    kept = [runs.folder, *runs.folder.rglob("*")]

    assert len([path for path in kept if path.is_file()]) >= 3
    assert {path.name: path.stat().st_mode & 0o077 for path in kept if path.stat().st_mode & 0o077} == {}


def test_a_stage_that_is_killed_or_stopped_keeps_what_it_acknowledged(dynamodb_local_url: str, tmp_path: Path) -> None:
    del dynamodb_local_url
    paid: list[str] = []
    for ending in (signal.SIGKILL, signal.SIGTERM):
        with a_stage(**ON_FOLDER, DATA=str(tmp_path)) as process, ThreadPoolExecutor(4) as tills:
            url = url_of(process)
            found = [http.get(url, f"/api/v1/payment/{number}").error for number in paid]
            paid += tills.map(lambda _, url=url: http.post(url, SUBMIT, a_body()).body["TransactionID"], range(8))
            process.send_signal(ending)
            process.wait(timeout=20)

        assert found == [(200, 0)] * len(found)
    assert len(found) == 8


@pytest.mark.release
def test_a_table_that_is_defined_otherwise_is_refused(
    dynamodb_local_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dynamodb_local_url
    with open_folder(tmp_path) as folder, engines.dynamodb_local(folder):
        folder.mark_seeded()
    defined = resources.create_table_arguments(resources.STACK)
    for table in defined:
        table.pop("GlobalSecondaryIndexes", None)
    monkeypatch.setattr(resources, "create_table_arguments", lambda _: defined)

    with (
        open_folder(tmp_path) as folder,
        pytest.raises(DataFolderError, match=f"{resources.STACK}-agents in DATA is not as resources.json defines it"),
        engines.dynamodb_local(folder),
    ):
        pass


@pytest.mark.release
def test_a_table_that_is_missing_is_created_beside_the_others(
    dynamodb_local_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dynamodb_local_url
    defined = resources.create_table_arguments(resources.STACK)
    with monkeypatch.context() as patch, open_folder(tmp_path) as folder:
        patch.setattr(resources, "create_table_arguments", lambda _: defined[1:])
        with engines.dynamodb_local(folder, expiring=False):
            folder.mark_seeded()

    with open_folder(tmp_path) as folder, engines.dynamodb_local(folder) as url:
        names = boto3.client("dynamodb", endpoint_url=url).list_tables()["TableNames"]

    assert names == sorted(table["TableName"] for table in defined)


def test_tables_that_cannot_be_opened_are_one_clear_line(dynamodb_local_url: str, tmp_path: Path) -> None:
    del dynamodb_local_url
    with open_folder(tmp_path) as folder:
        folder.mark_seeded()
        (folder.tables / "shared-local-instance.db").write_bytes(b"not a database" * 100)

    with a_stage(**ON_FOLDER, DATA=str(tmp_path)) as process:
        assert f"DATA={tmp_path}: DynamoDB Local cannot open the tables" in refusal_of(process)


def test_demo_data_that_was_not_completed_is_begun_anew(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        folder.store_file("half", b"done")
        (folder.tables / "shared-local-instance.db").write_bytes(b"half")
        key = folder.key_material

    with open_folder(tmp_path) as folder:
        assert (list(folder.stored_files()), list(folder.tables.iterdir())) == ([], [])
        assert folder.key_material == key


@pytest.fixture
def own_key(moto: None) -> Iterator[None]:
    """Give the simulated AWS its own key again after the test: that of a folder takes its place."""
    del moto
    client, alias = boto3.client("kms"), settings().key_id
    key = client.describe_key(KeyId=alias)["KeyMetadata"]["KeyId"]
    yield
    client.update_alias(AliasName=alias, TargetKeyId=key)


@pytest.mark.usefixtures("own_key")
def test_a_file_is_deleted_with_its_last_version(tmp_path: Path) -> None:
    s3, bucket = boto3.client("s3"), settings().bucket
    with open_folder(tmp_path) as folder, kept_in(folder):
        name = "transactions/1/photo.png"
        versions = [s3.put_object(Bucket=bucket, Key=name, Body=PNG)["VersionId"] for _ in range(2)]
        stored: list[list[tuple[str, bytes]]] = []
        for version in versions:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": name, "VersionId": version}]})
            stored.append(list(folder.stored_files()))

    assert stored == [[(name, PNG)], []]


@pytest.mark.usefixtures("own_key")
def test_a_folder_has_the_version_of_a_secret_that_an_operator_made_current(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder, kept_in(folder):
        before = folder.secret
        stage_secret.rotate_signing(again=True)
        after = folder.secret
        current = boto3.client("secretsmanager").get_secret_value(SecretId=settings().secret_id)["SecretString"]

    assert after == current != before


def test_what_is_stored_in_a_folder_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    def content(folder: DataFolder) -> Any:
        return (
            folder.key_id,
            folder.key_material,
            folder.secret,
            folder.digest_keys,
            folder.seeded,
            dict(folder.stored_files()),
        )

    with open_folder(tmp_path / "new" / "data") as folder:
        folder.mark_seeded()
        folder.store_secret('{"digest_key": "1"}', '{"digest_keys": []}')
        folder.store_file("transactions/1/photo.png", PNG)
        before = content(folder)

    with open_folder(tmp_path / "new" / "data") as folder:
        assert content(folder) == before
        assert content(folder)[2:] == (
            '{"digest_key": "1"}',
            '{"digest_keys": []}',
            True,
            {"transactions/1/photo.png": PNG},
        )


def test_a_file_that_was_not_finished_is_removed(tmp_path: Path) -> None:
    with open_folder(tmp_path):
        (tmp_path / ".unfinished-1").write_bytes(b"half")

    with open_folder(tmp_path):
        assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("Dear Ann")

    with pytest.raises(DataFolderError, match="not empty"), open_folder(tmp_path):
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"key_material": "x"}', '{"key_material": "00"}'])
def test_a_damaged_document_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "stage.json").write_text(text)

    with pytest.raises(DataFolderError, match=r"stage\.json is damaged"), open_folder(tmp_path):
        pass


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(DataFolderError, match=re.escape(f"DATA={tmp_path}/data cannot be used: File exists")):
        open_folder(tmp_path / "data").__enter__()
