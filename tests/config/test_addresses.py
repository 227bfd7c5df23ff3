"""Which addresses may be dialled, and which hosts a pattern names."""

import pytest

from config.lib.addresses import (
    address_allowed,
    canonical_host,
    parse_allowed,
    refusal_of,
)
from config.lib.host_patterns import host_matches


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111"]
)
def test_a_global_address_may_be_dialled(address: str) -> None:
    assert address_allowed(address, 443, ())


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0", "this machine"),  # noqa: S104 - it is refused
        ("127.0.0.1", "this machine"),
        ("127.255.255.254", "this machine"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "carrier"),
        ("100.100.100.200", "carrier"),
        ("169.254.169.254", "metadata"),
        ("169.254.1.1", "link-local"),
        ("168.63.129.16", "metadata"),
        ("192.0.0.8", "reserved"),
        ("192.0.0.192", "reserved"),
        ("192.0.2.1", "documentation"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("198.18.0.1", "benchmarks"),
        ("192.88.99.1", "6to4"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("::", "this machine"),
        ("::1", "this machine"),
        ("0:0:0:0:0:0:0:1", "this machine"),
        ("::127.0.0.1", "IPv4"),
        ("::ffff:127.0.0.1", "IPv4"),
        ("::ffff:8.8.8.8", "IPv4"),
        ("::ffff:7f00:1", "IPv4"),
        ("::ffff:0:127.0.0.1", "IPv4"),
        ("64:ff9b::169.254.169.254", "IPv4"),
        ("64:ff9b:1::a00:1", "IPv4"),
        ("2002:7f00:1::", "6to4"),
        ("2001:0:5ef5:79fb::1", "Teredo"),
        ("2001:2::1", "reserved"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("fd00:ec2::254", "metadata"),
        ("fd12:3456::1", "private"),
        ("fe80::1", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("100::1", "reserved"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
        ("2606:4700::5efe:7f00:1", "IPv4"),
    ],
)
def test_an_address_that_is_not_global_is_refused_with_the_reason(
    address: str, reason: str
) -> None:
    assert reason in (refusal_of(address, 443, ()) or "")


@pytest.mark.parametrize(
    "address",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "127.0.0.1 ",
        "[::1]",
        "localhost",
        "",
        "８.８.８.８",
    ],
)
def test_an_address_in_an_odd_form_is_refused(address: str) -> None:
    assert refusal_of(address, 443, parse_allowed("0.0.0.0/0,::/0")) == "is not an address"


def test_an_address_with_a_zone_is_refused_even_where_its_network_is_allowed() -> None:
    assert not address_allowed("fe80::1%eth0", 443, parse_allowed("fe80::/10"))
    assert not address_allowed("2606:4700::1%1", 443, ())


def test_the_operators_list_lifts_a_network_an_address_and_one_port_of_an_address() -> None:
    allow = parse_allowed("10.1.0.0/16, 192.168.1.5 ,127.0.0.1:8080,[::1]:9000,fd00::/8")
    assert address_allowed("10.1.2.3", 5, allow)
    assert address_allowed("192.168.1.5", 5, allow)
    assert address_allowed("127.0.0.1", 8080, allow)
    assert address_allowed("::1", 9000, allow)
    assert address_allowed("fd12::1", 443, allow)
    assert not address_allowed("10.2.0.1", 5, allow)
    assert not address_allowed("127.0.0.1", 8081, allow)
    assert not address_allowed("::1", 9001, allow)


def test_an_allowed_address_does_not_lift_the_ipv6_forms_that_stand_for_it() -> None:
    allow = parse_allowed("127.0.0.1,10.0.0.0/8")
    assert not address_allowed("::ffff:127.0.0.1", 80, allow)
    assert not address_allowed("64:ff9b::a00:1", 80, allow)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_there_is_not_is_refused(port: int) -> None:
    assert not address_allowed("8.8.8.8", port, ())


def test_an_empty_list_allows_nothing() -> None:
    assert parse_allowed(" , ") == ()


@pytest.mark.parametrize(
    "text", ["10.0.0.1/8", "localhost", "1.2.3.4:0", "1.2.3.4:99999", "1.2.3.4:", "*", "[::1]"]
)
def test_a_wrong_entry_of_the_list_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is no network") as caught:
        parse_allowed(f"127.0.0.1,{text}")
    assert f"“{text}”" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "host", "port"),
    [
        ("example.com", "example.com", 443),
        ("example.com", "EXAMPLE.com.", 80),
        ("Example.COM.", "example.com", 80),
        ("example.com:8080", "example.com", 8080),
        ("*.example.com", "a.example.com", 443),
        ("*.example.com", "b.a.example.com", 443),
        ("*.example.com:8443", "a.example.com", 8443),
        ("bücher.example", "xn--bcher-kva.example", 443),
        ("xn--bcher-kva.example", "BÜCHER.example", 443),
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("[::1]:8080", "::1", 8080),
        ("[::1]", "[0:0::1]", 80),
    ],
)
def test_a_pattern_names_its_host(pattern: str, host: str, port: int) -> None:
    assert host_matches(pattern, host, port)


@pytest.mark.parametrize(
    ("pattern", "host", "port"),
    [
        ("example.com", "example.com", 8080),
        ("example.com:8080", "example.com", 443),
        ("example.com", "a.example.com", 443),
        ("*.example.com", "example.com", 443),
        ("*.example.com", "badexample.com", 443),
        ("*.example.com", "example.com.evil.net", 443),
        ("*.0.0.1", "127.0.0.1", 80),
        ("*", "example.com", 443),
        ("*.", "example.com", 443),
        ("", "", 443),
        ("example.com:", "example.com", 443),
        ("example.com:https", "example.com", 443),
        ("example.com/path", "example.com", 443),
        ("127.0.0.1", "2130706433", 80),
        ("ex*mple.com", "example.com", 443),
    ],
)
def test_a_pattern_names_no_other_host(pattern: str, host: str, port: int) -> None:
    assert not host_matches(pattern, host, port)


def test_what_is_not_the_name_of_a_host_has_no_spelling() -> None:
    assert [canonical_host(text) for text in ("a b", "a@b", "a/b", "..", "a..b", "é" * 300)] == [
        ""
    ] * 6
