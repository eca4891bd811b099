"""A test in the words of Chalice's own page on testing, with moto's `mock_aws` around it, holds in a new shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import ports
from infra.stack.package import ROOT

TEST = """
import base64
import json
import logging

import boto3
import pytest
from chalice.test import Client
from moto import mock_aws
from moto.server import ThreadedMotoServer

from app import app
from chalicelib.gateways import secrets
from infra.demo import data
from infra.local import engines

PAYMENT = {
    "BasicTran": {"ID": "8d5ad1e8-5d0f-4f43-9b5c-1c4ba9bd3a0f", "InputType": 10, "CurrencyID": "ZAR", "Amount": 12},
    "AcqTran": {"AcquirerCode": "CASH"},
}
LOGIN = base64.b64encode(":".join(data.TILL).encode()).decode()
HEADERS = {"Authorization": f"Basic {LOGIN}", "Content-Type": "application/json"}


def pay(client):
    return client.http.post("/api/v1/payment/submit", headers=HEADERS, body=json.dumps(PAYMENT).encode())


def test_the_log_of_no_client_has_the_secret(caplog):  # the first, because a client may set the level
    with mock_aws(), caplog.at_level(logging.DEBUG):
        engines.create_resources()
        assert "digest_key" not in caplog.text
        assert secrets.remembered()()["digest_key"] not in caplog.text


@mock_aws
def test_without_tables():
    with Client(app) as client:
        assert client.http.get("/api/v1/health").json_body["ErrorCode"] == 0
        assert pay(client).json_body["ErrorCode"] == 903


@mock_aws
def test_payment():
    engines.create_resources()
    data.seed()
    with Client(app) as client:
        paid, again = pay(client), pay(client)
    assert (paid.status_code, paid.json_body["ErrorCode"]) == (200, 0)
    assert again.json_body == paid.json_body


@mock_aws
def test_another_mock_aws_begins_empty_with_a_secret_of_its_own():
    engines.create_resources()
    with Client(app) as client:
        assert pay(client).status_code == 403  # as Chalice's own gateway refuses
    stored = boto3.client("secretsmanager").get_secret_value(SecretId="payments-local-secret")["SecretString"]
    assert secrets.remembered()()["digest_key"] == json.loads(stored)["digest_key"]


@pytest.mark.parametrize("region", ["us-east-1", "af-south-1", ""])
def test_in_any_region(region, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    with mock_aws():
        engines.create_resources()
        data.seed()
        with Client(app) as client:
            assert pay(client).json_body["ErrorCode"] == 0


def test_at_a_server_of_moto_without_keys(monkeypatch):
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    monkeypatch.delenv("AWS_PORT")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://%s:%s" % server.get_host_and_port())
    engines.create_resources()
    data.seed()
    with Client(app) as client:
        assert pay(client).json_body["ErrorCode"] == 0
    server.stop()


def test_after_a_mock_nothing_calls_amazon():
    with Client(app) as client:
        assert pay(client).json_body["ErrorCode"] == 903
"""


@pytest.mark.slow
def test_the_service_calls_moto_while_mock_aws_is_active(tmp_path: Path) -> None:
    (tmp_path / "test_payments.py").write_text(TEST, encoding="utf-8")
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={
            **environment,
            "PYTHONPATH": str(ROOT),
            "AWS_PORT": str(ports.free_port()),
            "AWS_DEFAULT_REGION": "eu-west-1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert "9 passed" in done.stdout, done.stdout
