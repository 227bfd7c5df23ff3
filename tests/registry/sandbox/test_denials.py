"""A failed call is told by the host it could not reach, from facts and never from words."""

from typing import Any

import pytest

from registry.sandbox.service.denials import denied_hosts, explained, failed_softly
from registry.sandbox.service.egress import Egress
from registry.sandbox.service.errors import ServiceError


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (["A.example:443", "a.example:443", "[::1]:80"], ("a.example:443", "[::1]:80")),
        (["a.example", "*.a.example:443", "*", 7, None, "x y:1", "a.example:0"], ()),
        ([f"h{number}.example:1" for number in range(99)], None),
        ("a.example:443", ()),
        ({"a.example:443": 1}, ()),
        (None, ()),
    ],
)
def test_of_a_guests_list_only_hosts_are_kept(told: Any, kept: tuple[str, ...] | None) -> None:
    found = denied_hosts(told)
    assert found == kept if kept is not None else len(found) == 20


@pytest.mark.parametrize(
    ("output", "soft"),
    [
        ({"error": True}, True),
        ({"error": "no"}, True),
        ({"success": False}, True),
        ({"status": "error", "message": "no"}, True),
        ({"status": "success"}, False),
        ({"error": None}, False),
        ({"error": False, "success": True}, False),
        ({"success": 0}, False),
        ([{"error": True}], False),
        ("error", False),
    ],
)
def test_an_answer_may_call_itself_a_failure(output: Any, soft: bool) -> None:
    assert failed_softly(output) is soft


def test_words_alone_name_no_host() -> None:
    error = ServiceError("tool_failed", 'Requires net access to "a.example:443"')
    assert explained(error, (), None) is error


@pytest.mark.parametrize("code", ["tool_timeout", "out_of_memory", "protocol_violation"])
def test_a_limit_that_was_reached_is_not_explained_away(code: str) -> None:
    error = ServiceError(code, "")
    assert explained(error, ("a.example:443",), None) is error


def test_what_the_proxy_saw_is_told_in_the_order_of_who_can_mend_it() -> None:
    egress = Egress(["b.example"])
    error = ServiceError("tool_failed", "fetch failed")
    egress.seen.unreachable["c.example:443"] = "does not answer"
    told = explained(error, (), egress)
    assert told.code == "upstream_unreachable"
    assert told.message == "The tool could not reach c.example:443, which does not answer."
    egress.seen.forbidden["b.example:443"] = "leads to 10.0.0.1: it is private"
    told = explained(error, (), egress)
    assert (told.code, told.extra["hosts"]) == ("network_denied", ["b.example:443"])
    assert "which leads to 10.0.0.1: it is private." in told.message
    egress.seen.denied["a.example:443"] = "is not on the list of allowed hosts"
    told = explained(error, [f"h{number}.example:1" for number in range(4)], egress)
    assert told.extra["said"] == "fetch failed"
    assert "h0.example:1, h1.example:1, h2.example:1 and 2 more" in told.message
