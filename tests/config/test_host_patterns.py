"""A host that a tool may reach is written in one of three ways, and has one spelling."""

import pytest

from config.lib.host_patterns import parse_host_pattern


@pytest.mark.parametrize(
    ("text", "spelling", "with_ports"),
    [
        ("api.example.com", "api.example.com", ("api.example.com:80", "api.example.com:443")),
        (" API.Example.COM. ", "api.example.com", ("api.example.com:80", "api.example.com:443")),
        ("api.example.com:8443", "api.example.com:8443", ("api.example.com:8443",)),
        ("*.example.com", "*.example.com", ("*.example.com:80", "*.example.com:443")),
        ("*.example.com:8443", "*.example.com:8443", ("*.example.com:8443",)),
        ("münchen.example", "xn--mnchen-3ya.example", None),
        ("localhost:8000", "localhost:8000", ("localhost:8000",)),
        ("10.1.2.3:8000", "10.1.2.3:8000", ("10.1.2.3:8000",)),
        ("[::1]:8000", "[::1]:8000", ("[::1]:8000",)),
        ("[0:0::1]", "[::1]", ("[::1]:80", "[::1]:443")),
    ],
)
def test_a_pattern_has_one_spelling_and_its_ports(
    text: str, spelling: str, with_ports: tuple[str, ...] | None
) -> None:
    pattern = parse_host_pattern(text)
    assert str(pattern) == spelling
    assert parse_host_pattern(spelling) == pattern
    if with_ports:
        assert pattern.with_ports == with_ports


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("*", "stands for the whole network"),
        ("*.*", "stands for the whole network"),
        ("", "is not host"),
        ("*.com", "names too much"),
        ("*.10.1.2.3", "names too much"),
        ("a.*.example.com", "is not the name of a host"),
        ("**.example.com", "is not"),
        ("https://example.com", "is not host"),
        ("example.com/path", "is not host"),
        ("user@example.com", "is not host"),
        ("example.com:0", "has no port"),
        ("example.com:70000", "has no port"),
        ("example.com:", "is not host"),
        ("a b.example", "is not host"),
        ("a..example", "is not the name of a host"),
        ("2130706433", "is not an address in its usual form"),
        ("127.1", "is not an address in its usual form"),
        ("0x7f.0.0.1", "is not an address in its usual form"),
        ("127.0.0.0x1", "is not an address in its usual form"),
        ("0177.0.0.1", "is not an address in its usual form"),
        ("::1", "is not host"),
        ("x" * 300, "is not host"),
        ("example.com,--allow-all", "is not the name of a host"),
    ],
)
def test_what_is_no_pattern_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_host_pattern(text)
