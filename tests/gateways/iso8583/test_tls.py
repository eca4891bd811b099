"""TLS to the host: whom the service believes, and what it shows of itself."""

import json
import os
import socket
import ssl
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import boto3
import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AcquirerError, AnswerLostError, UnreachableError
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.settings import settings
from chalicelib.settings.iso8583 import Host, usual
from tests.gateways.iso8583.hosts import a_host, answers
from tests.gateways.iso8583.requests import a_purchase
from tests.support.certificates import an_authority
from tests.support.giving import Give

pytestmark = pytest.mark.usefixtures("moto")


def pay(host: Host, within_s: float = 5.0) -> bool:
    return Iso8583(host).authorize(a_purchase(), within_s).is_approved


@pytest.fixture
def shown() -> Iterator[dict[str, object]]:
    """The entry `iso8583` of the stage's secret, which a test fills."""
    client = boto3.client("secretsmanager")
    before = client.get_secret_value(SecretId=settings().secret_id)["SecretString"]
    entry: dict[str, object] = {}

    def fetch(_: str) -> str:
        return json.dumps({**json.loads(before), **({"iso8583": entry} if entry else {})})

    with outside.given(secret=fetch):
        yield entry


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_host_with_the_right_certificate_is_believed(tmp_path: Path, name: str) -> None:
    authority = an_authority(name)
    with a_host(answers(), tls=authority.serving(tmp_path)) as host:
        assert pay(host.with_tls(authority.write(tmp_path, "ca.pem"), name))


@pytest.mark.parametrize("name", ["127.0.0.2", "host.example"])
def test_a_certificate_of_another_name_is_not(tmp_path: Path, name: str) -> None:
    authority = an_authority(name)
    with a_host(answers(), tls=authority.serving(tmp_path)) as host, pytest.raises(UnreachableError):
        pay(host.with_tls(authority.write(tmp_path, "ca.pem")))

    assert host.got == []


def test_a_certificate_of_another_authority_is_not(tmp_path: Path) -> None:
    other = an_authority("127.0.0.1").write(tmp_path, "ca.pem")
    with a_host(answers(), tls=an_authority("127.0.0.1").serving(tmp_path)) as host:
        for ca in (other, None):
            with pytest.raises(UnreachableError):
                pay(host.with_tls(ca))

    assert host.got == []


def test_tls_1_1_is_not_spoken(tmp_path: Path) -> None:
    authority = an_authority("127.0.0.1")
    old = authority.serving(tmp_path)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with a_host(answers(), tls=old) as host, pytest.raises(UnreachableError):
        pay(host.with_tls(authority.write(tmp_path, "ca.pem")))


def test_a_host_that_speaks_no_tls_was_sent_nothing(tmp_path: Path) -> None:
    ca = an_authority("127.0.0.1").write(tmp_path, "ca.pem")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = Host("127.0.0.1", silent.getsockname()[1], "1", tls=True, ca=str(ca), dialect=usual())
        began = time.monotonic()
        with pytest.raises(UnreachableError):
            pay(host, 0.3)

    assert time.monotonic() - began < 5  # a hang, not a speed


def test_the_certificate_of_the_secret_is_shown_to_a_host_that_asks(
    tmp_path: Path, shown: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    authority, ours = an_authority("127.0.0.1"), an_authority("till.example")
    asking = authority.serving(tmp_path)
    asking.verify_mode = ssl.CERT_REQUIRED
    asking.load_verify_locations(cadata=ours.certificate.decode())
    with a_host(answers(), tls=asking) as host:
        without = host.with_tls(authority.write(tmp_path, "ca.pem"))
        with pytest.raises(AcquirerError):
            pay(without)
        shown |= {"certificate": ours.certificate.decode(), "key": ours.key.decode()}
        outside.forget()

        assert pay(without)
    assert os.listdir(folder) == []  # noqa: PTH208  the key is nowhere on a disk
    assert len(host.got) == 1


OURS = an_authority("till.example")
UNUSABLE = [
    {"certificate": "no PEM", "key": "no PEM"},
    {"certificate": "no PEM"},
    {"certificate": OURS.certificate.decode(), "key": OURS.encrypted_key.decode()},
]


@pytest.mark.parametrize("entry", UNUSABLE, ids=["no PEM", "no key", "an encrypted key"])
def test_with_a_certificate_that_is_none_nothing_is_sent_and_the_key_is_not_logged(
    tmp_path: Path, shown: dict[str, object], entry: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    authority = an_authority("127.0.0.1")
    shown |= entry
    outside.forget()
    with a_host(answers(), tls=authority.serving(tmp_path)) as host, pytest.raises(UnreachableError):
        pay(host.with_tls(authority.write(tmp_path, "ca.pem")))

    assert host.connections == 0
    logged = capsys.readouterr().out
    assert '"event": "defect"' in logged
    assert "PEM" not in logged
    assert "PRIVATE KEY" not in logged


def test_a_host_that_closes_within_tls_leaves_the_outcome_open(tmp_path: Path) -> None:
    authority = an_authority("127.0.0.1")

    def tears(sock: socket.socket, _: bytes) -> None:
        with socket.socket(fileno=os.dup(sock.fileno())) as tcp:
            tcp.shutdown(socket.SHUT_RDWR)

    with a_host(tears, tls=authority.serving(tmp_path)) as host, pytest.raises(AnswerLostError):
        pay(host.with_tls(authority.write(tmp_path, "ca.pem")))

    assert len(host.got) == 1


def test_without_tls_the_secret_is_not_read(give: Give) -> None:
    def never(_: str) -> str:
        raise AssertionError

    give(secret=never)
    with a_host(answers()) as host:
        assert pay(replace(host.settings, tls=False))
