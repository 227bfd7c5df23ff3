"""HTTP tools called through the one door, against a real server on loopback."""

import json

import pytest

from config.lib.addresses import parse_allowed
from registry.api_tools import api_tool_save
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.results import Failed, Succeeded
from registry.services import tool_review
from tests.fakes.web_server import serving
from tests.registry.api_tools.making import fields_of, make_api_tool

CANARY = "canary-5f2e81"


@pytest.fixture
def web(settings):
    with serving() as server:
        settings.OUTBOUND_ALLOW = parse_allowed(f"127.0.0.1:{server.port}")
        settings.TRUSTED_TOKEN_HOSTS = ()
        yield server


@pytest.fixture
def call(alice, web):
    """Return a function that makes a tool and calls it."""

    def run(path="/x", arguments=None, *, context=None, **definition):
        tool = make_api_tool(alice, {"url": web.url + path, **definition})
        values = {"KEY": CANARY}
        circumstances = CallContext(
            user=alice,
            caller=Caller.BROWSER,
            env=lambda names: {name: values[name] for name in names if name in values},
        )
        return invoke(load_spec(tool), arguments or {}, circumstances.derive(**(context or {})))

    return run


def output(result):
    assert isinstance(result, Succeeded), result
    return result.output


def error(result, code):
    assert isinstance(result, Failed), result
    assert result.error.code == code, result.error.as_dict()
    return result.error


def test_a_call_fills_the_request_and_maps_the_answer(call, web):
    web.on("/v1/Paris", lambda it: it.json('{"days": [{"t": 20}, {"t": 25}], "more": 1}'))
    result = call(
        "/v1/{{ args.city }}",
        {"city": "Paris", "days": 2},
        method="POST",
        body={"type": "json", "value": {"days": "{{ args.days }}"}},
        response={"path": "days[].t"},
    )
    assert output(result) == [20, 25]
    assert json.loads(web.asked[0].body) == {"days": 2}
    row = Invocation.objects.get(pk=result.invocation_id)
    assert (row.outcome, row.output) == ("succeeded", [20, 25])


def test_text_comes_as_text_in_the_charset_it_names(call, web):
    latin = {"Content-Type": "text/plain; charset=iso-8859-1"}
    web.on("/x", lambda it: it.answer("é".encode("latin-1"), headers=latin))
    assert output(call()) == "é"


@pytest.mark.parametrize("charset", ["punycode", "zlib", "idna", "nonsense", "unicode_escape"])
def test_a_charset_that_is_none_is_read_as_utf8(call, web, charset):
    kind = {"Content-Type": f"text/plain; charset={charset}"}
    web.on("/x", lambda it: it.answer("é-a", headers=kind))
    assert output(call()) == "é-a"


def test_bytes_come_as_base64_with_their_type_and_size(call, web):
    web.on("/x", lambda it: it.answer(b"\x89PNG", headers={"Content-Type": "image/png"}))
    assert output(call()) == {"mediaType": "image/png", "size": 4, "base64": "iVBORw=="}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b"plain", "plain"),
        (b"\xff", {"mediaType": "application/octet-stream", "size": 1, "base64": "/w=="}),
    ],
)
def test_an_answer_without_a_type_is_looked_at(call, web, body, value):
    web.on("/x", lambda it: it.answer(body))
    assert output(call()) == value


def test_an_empty_answer_is_null(call, web):
    web.on("/x", lambda it: it.answer(status=204))
    assert output(call(response={"path": "a.b"})) is None


def test_other_statuses_can_be_named_a_success(call, web):
    web.on("/x", lambda it: it.json('{"found": false}', status=404))
    assert output(call(response={"successStatus": [200, 404]})) == {"found": False}


def test_an_error_of_the_service_is_told_with_its_status_and_words(call, web):
    web.on("/x", lambda it: it.answer("no such\n  city", status=404))
    told = error(call(), "upstream_error")
    assert told.message == "127.0.0.1 answered 404 Not Found: no such city"
    assert told.extra["status"] == 404


def test_a_service_in_trouble_is_told_as_such(call, web):
    web.on("/x", lambda it: it.answer("later", status=503))
    assert error(call(), "upstream_unreachable").extra["status"] == 503


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_sign_in_is_the_owners_to_mend(call, web, status):
    web.on("/x", lambda it: it.answer(status=status))
    told = error(call(), "upstream_auth")
    assert told.actor == "owner"
    assert "Credentials" in told.hint


@pytest.mark.parametrize(("header", "wait"), [("7", 7), ("never", None), ("9" * 20, 86_400)])
def test_a_rate_limit_tells_how_long_to_wait(call, web, header, wait):
    web.on("/x", lambda it: it.answer(status=429, headers={"Retry-After": header}))
    told = error(call(), "upstream_rate_limited")
    assert told.extra["retry_after"] == wait


def test_json_that_is_none_is_told(call, web):
    web.on("/x", lambda it: it.json("{oops"))
    assert "cannot be read" in error(call(), "output_rejected").message


def test_a_path_over_an_answer_that_is_not_json_is_told(call, web):
    web.on("/x", lambda it: it.answer("<p>", headers={"Content-Type": "text/html"}))
    assert "text/html" in error(call(response={"path": "a"}), "output_rejected").message


def test_a_path_that_does_not_fit_the_answer_is_told(call, web):
    web.on("/x", lambda it: it.json('{"a": 1}'))
    told = error(call(response={"path": "length(a)"}), "output_rejected")
    assert "does not fit the answer" in told.message


def test_an_answer_over_the_tools_limit_is_refused(call, web):
    web.on("/x", lambda it: it.answer("x" * 101))
    assert "100 bytes" in error(call(maxBytes=100), "response_too_large").message


def test_a_slow_service_ends_at_the_tools_time_limit(call, web):
    web.on("/x", lambda it: web.closing.wait() and None)
    assert "1 seconds" in error(call(timeoutSeconds=1), "tool_timeout").message


def test_a_private_address_is_refused_and_named(call, web, settings):
    settings.OUTBOUND_ALLOW = ()
    told = error(call(), "host_refused")
    assert "127.0.0.1" in told.message
    assert not web.asked


def test_an_argument_that_the_request_cannot_carry_is_the_models_to_mend(call):
    told = error(call("/v1/{{ args.city }}", {"city": ".."}), "invalid_arguments")
    assert told.actor == "model"


SIGN_INS = [
    {"type": "bearer", "env": "KEY"},
    {"type": "basic", "env": "KEY", "username": "me"},
    {"type": "header", "env": "KEY", "name": "X-Key"},
    {"type": "query", "env": "KEY", "name": "key"},
]


@pytest.mark.parametrize("auth", SIGN_INS)
@pytest.mark.parametrize("status", [200, 500])
def test_a_credential_that_the_service_echoes_is_masked_everywhere(call, web, auth, status):
    def echo(it):
        seen = {"headers": it.asked.headers, "path": it.asked.path}
        it.json(json.dumps(seen), status=status)

    web.on("/x", echo)
    result = call(auth=auth)
    sent = json.dumps([web.asked[0].headers, web.asked[0].path])
    encoded = "bWU6Y2FuYXJ5" if auth["type"] == "basic" else CANARY
    assert encoded in sent
    row = Invocation.objects.get(pk=result.invocation_id)
    told = json.dumps([row.output, row.error, row.arguments, str(result)])
    assert "••••••" in json.dumps([row.output, row.error], ensure_ascii=False)
    assert encoded not in told


def test_a_missing_credential_is_named(call):
    told = error(call(auth={"type": "bearer", "env": "OTHER_KEY"}), "missing_credential")
    assert told.extra["missing"] == ["OTHER_KEY"]


CALLER = {"type": "oauth_caller"}


def test_the_callers_token_goes_to_a_trusted_host_and_is_masked(call, web, settings):
    settings.TRUSTED_TOKEN_HOSTS = (f"127.0.0.1:{web.port}",)
    web.on("/x", lambda it: it.json(json.dumps({"got": it.asked.headers["authorization"]})))
    result = call(auth=CALLER, context={"caller_token": lambda: CANARY})
    assert web.asked[0].headers["authorization"] == f"Bearer {CANARY}"
    assert output(result) == {"got": "Bearer ••••••"}


@pytest.mark.parametrize("trusted", [(), ("example.com",), ("127.0.0.1",)])
def test_the_callers_token_goes_to_no_other_host(call, web, settings, trusted):
    settings.TRUSTED_TOKEN_HOSTS = trusted
    told = error(call(auth=CALLER, context={"caller_token": lambda: CANARY}), "host_refused")
    assert "TRUSTED_TOKEN_HOSTS" in told.hint
    assert not web.asked


def test_a_caller_without_a_token_is_told(call, web, settings):
    settings.TRUSTED_TOKEN_HOSTS = (f"127.0.0.1:{web.port}",)
    assert "came without one" in error(call(auth=CALLER), "permission_refused").message
    assert not web.asked


def test_the_callers_token_does_not_follow_a_redirect_elsewhere(call, web, settings):
    with serving() as other:
        settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1")
        settings.TRUSTED_TOKEN_HOSTS = (f"127.0.0.1:{web.port}",)
        web.redirect("/x", f"{other.url}/y")
        other.on("/y", lambda it: it.answer("ok"))
        output(call(auth=CALLER, context={"caller_token": lambda: CANARY}))
        assert "authorization" not in other.asked[0].headers


def test_a_tool_of_a_team_is_lent_nobodys_key_until_it_is_approved(alice, bob, team, web):
    auth = {"type": "bearer", "env": "KEY"}
    tool = make_api_tool(alice, {"url": f"{web.url}/x", "auth": auth}, visibility="team", team=team)
    web.on("/x", lambda it: it.json("1"))
    bobs = CallContext(user=bob, caller=Caller.BROWSER, env=lambda names: {"KEY": CANARY})

    refused = error(invoke(load_spec(tool), {}, bobs), "permission_refused")

    assert "KEY" in refused.message
    assert "reviewer" in refused.hint
    assert web.asked == []
    tool_review(tool, status=ReviewStatus.APPROVED)
    assert output(invoke(load_spec(tool), {}, bobs)) == 1
    # whatever its maker changes then has to be approved anew
    changed = fields_of({"url": f"{web.url}/y", "auth": auth}, visibility="team", team=team)
    api_tool_save(tool, author=alice, fields=changed)
    error(invoke(load_spec(tool), {}, bobs), "permission_refused")
    assert len(web.asked) == 1
