import pytest

from chalicelib.domain.partner import is_public, sign
from chalicelib.domain.secret import Secret


def test_a_signature_is_the_hmac_of_the_time_a_full_stop_and_the_body() -> None:
    # printf '1773480413.{"a":1}' | openssl dgst -sha256 -hmac a-secret-of-a-partner
    expected = "88a2cbbdbe45d16464d60af5edeb4f457cfe1007cf6540e40626f92b9fdcf5e7"

    assert sign(Secret("a-secret-of-a-partner"), "1773480413", b'{"a":1}') == expected


@pytest.mark.parametrize(
    ("secret", "timestamp", "body"),
    [("other", "1773480413", b"{}"), ("secret", "1773480414", b"{}"), ("secret", "1773480413", b"{ }")],
)
def test_another_secret_time_or_body_is_another_signature(secret: str, timestamp: str, body: bytes) -> None:
    assert sign(Secret(secret), timestamp, body) != sign(Secret("secret"), "1773480413", b"{}")


PUBLIC = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001::2004"]

NOT_PUBLIC = [
    *("127.0.0.1", "127.255.255.254", "::1"),  # this machine
    *("0.0.0.0", "0.1.2.3", "::"),  # noqa: S104  no address; some systems connect it to this machine
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1"),  # private networks
    *("169.254.169.254", "169.254.170.2", "fd00:ec2::254"),  # metadata and credentials of the machine
    *("169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1"),  # this link, this site
    *("100.64.0.1", "100.127.255.255"),  # the carrier's network
    *("224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"),  # multicast
    *("240.0.0.1", "255.255.255.255", "5f00::1", "4000::1"),  # reserved
    *("192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"),  # documentation
    *("198.18.0.1", "198.19.255.255", "192.0.0.1", "100::1"),  # benchmarks, protocols, the discard prefix
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8"),  # IPv4-mapped
    *("::127.0.0.1", "::8.8.8.8"),  # IPv4-compatible
    *("64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::a00:1"),  # NAT64
    *("2002:7f00:1::", "2002:a9fe:a9fe::", "2002:808:808::", "192.88.99.1"),  # 6to4
    *("2001::1", "2001:0:7f00:1::"),  # Teredo
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_partner_may_live_on_the_public_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_partner_lives_nowhere_else(address: str) -> None:
    assert not is_public(address)
