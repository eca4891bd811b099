"""What is deployed and the local stage compress the same answers."""

import gzip
import http.client
from contextlib import closing
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

DOCUMENT, HEALTH = "/api/v1/openapi.json", "/api/v1/health"


def fetched(url: str, path: str, accepted: str | None) -> tuple[dict[str, str], bytes]:
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as connection:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        if accepted is not None:
            connection.putheader("Accept-Encoding", accepted)
        connection.endheaders()
        response = connection.getresponse()
        return dict(response.headers), response.read()


@pytest.fixture(params=["local", "deployed"])
def either(request: pytest.FixtureRequest) -> str:
    """Each stage in turn: its URL."""
    if request.param == "local":
        return str(request.getfixturevalue("stage"))
    return str(request.getfixturevalue("deployed").url)


@pytest.mark.parametrize("accepted", ["gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.5", "identity, gzip ;q=0.001"])
def test_an_answer_is_compressed_for_whoever_takes_gzip(either: str, accepted: str) -> None:
    headers, content = fetched(either, DOCUMENT, accepted)

    plain = fetched(either, DOCUMENT, None)[1]
    assert headers["Content-Encoding"] == "gzip"
    assert int(headers["Content-Length"]) == len(content) < len(plain) / 4
    assert gzip.decompress(content) == plain


@pytest.mark.parametrize("accepted", [None, "", "*", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.000", "xgzip"])
def test_an_answer_is_sent_as_it_is_to_whoever_does_not_name_gzip(either: str, accepted: str | None) -> None:
    headers, content = fetched(either, DOCUMENT, accepted)

    assert "Content-Encoding" not in headers
    assert content.startswith(b"{")


def test_a_small_answer_and_a_refusal_are_sent_as_they_are(either: str) -> None:
    for path in (HEALTH, "/nowhere", "/api/v1/payment/AuthAccount"):
        headers, content = fetched(either, path, "gzip")
        assert "Content-Encoding" not in headers
        assert content.startswith(b"{")


def test_a_cache_is_told_that_a_document_depends_on_the_coding(either: str) -> None:
    for accepted in ("gzip", "identity"):
        assert fetched(either, DOCUMENT, accepted)[0]["Vary"] == "Accept-Encoding"
