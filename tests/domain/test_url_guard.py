import pytest

from chalicelib.domain.url_guard import is_public, may_be_called
from chalicelib.domain.urls import OWN_MACHINE

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
def test_a_partner_or_a_webhook_may_live_on_the_public_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_neither_lives_anywhere_else(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/events",
        "https://shop.example",
        "https://shop.example:8443/a?b=c%20d",
        "https://8.8.8.8/events",
        "https://127.0.0.1.shop.example/",
    ],
)
def test_a_webhook_is_https_at_a_public_host(url: str) -> None:
    assert may_be_called(url)
    assert may_be_called(url, OWN_MACHINE)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8180/events", "http://localhost:8180", "http://localhost"])
def test_a_webhook_may_be_on_this_machine_on_the_local_stage_alone(url: str) -> None:
    assert may_be_called(url, OWN_MACHINE)
    assert not may_be_called(url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "https://", "shop.example", "//shop.example/", "https:///events", "https://shop.example:0/"),
        *("http://shop.example/", "ftp://shop.example/", "file:///etc/passwd", "gopher://shop.example/"),
        *("https://user@shop.example/", "https://user:password@shop.example/", "https://shop.example/#part"),
        *(
            "https://shop.example:65536/",
            "https://shop.example:x/",
            "https://shop.example/a b",
            "https://shop.example/ü",
        ),
        *(
            "https://127.0.0.1/",
            "https://localhost/",
            "https://10.0.0.1/",
            "https://169.254.169.254/",
            "https://[::1]/",
        ),
        *("http://127.0.0.2/", "http://10.0.0.1/", "http://[::1]/", "http://0.0.0.0/", "http://localhost.example/"),
        *("https://shop.example\n/", "https://shop.example/\r\nHost: other", "https://shop.example\\@10.0.0.1/"),
        *("http://127.0.0.1@shop.example/", "http://user@localhost/", "http://localhost:0/"),
        *("https://167772161/", "https://0x0a000001/", "https://0xa.1/", "https://10.1/", "https://shop.0x/"),
        *("https://127.0.0.1./", "https://localhost./", "https://shop.localhost/", "https://012.0.0.1/"),
    ],
)
def test_a_webhook_is_nothing_else(url: str) -> None:
    assert not may_be_called(url, OWN_MACHINE)
    assert not may_be_called(url)
