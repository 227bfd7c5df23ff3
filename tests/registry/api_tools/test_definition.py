"""What a definition must keep to, each problem beside its field."""

import pytest
from django.http import QueryDict

from registry.api_definition import ApiInvalid, parse, to_json, variables_of
from registry.api_form_values import initial_of
from registry.api_forms import ApiToolForm
from registry.api_rules import host_of, rule_problems
from tests.registry.api_tools.making import CITY, make_api_tool

URL = "https://api.example.com/v1/{{ args.city }}"


def problems(definition, schema=CITY):
    """Return what is told at each place."""
    try:
        found = list(rule_problems(parse(definition), schema))
    except ApiInvalid as error:
        found = error.problems
    told = {}
    for problem in found:
        told[problem.path] = f"{told.get(problem.path, '')} {problem.message}"
    return told


def test_a_whole_definition_goes_in_and_comes_out():
    definition = {
        "method": "POST",
        "url": URL,
        "headers": {"X-Days": "{{ args.days }}"},
        "query": {"q": "{{ args.city }}", "unit": "C"},
        "body": {"type": "json", "value": {"tags": "{{ args.tags }}"}},
        "auth": {"type": "basic", "env": "ACME_PASSWORD", "usernameEnv": "ACME_USER"},
        "response": {"path": "items[0].name", "successStatus": [200, 404]},
        "maxBytes": 5_000,
        "timeoutSeconds": 9,
    }
    assert problems(definition) == {}
    assert parse(to_json(parse(definition))) == parse(definition)
    assert variables_of(to_json(parse(definition))) == ["ACME_PASSWORD", "ACME_USER"]


def test_only_the_url_is_needed():
    assert problems({"url": "https://example.com"}) == {}
    assert parse({"url": "https://example.com"}).timeout_seconds == 30


@pytest.mark.parametrize(
    ("part", "path", "told"),
    [
        ({"url": 5}, "url", "must be text"),
        ({"method": "TRACE"}, "method", "must be 'GET', 'POST'"),
        ({"more": 1}, "more", "not known"),
        ({"headers": {"X-A": 1}}, "headers.X-A", "must be text"),
        ({"timeoutSeconds": 301}, "timeoutSeconds", "at most 300"),
        ({"maxBytes": 0}, "maxBytes", "at least 1"),
        ({"auth": {"type": "magic"}}, "auth", "Known: 'bearer', 'basic'"),
        ({"auth": {}}, "auth", "of which type"),
        ({"auth": {"type": "bearer"}}, "auth.env", "missing"),
        ({"auth": {"type": "bearer", "env": "my key"}}, "auth.env", "ACME_API_KEY"),
        ({"auth": {"type": "header", "env": "K", "name": "X A"}}, "auth.name", "not the name of"),
        ({"body": {"type": "form", "value": []}}, "body.value", "must be an object"),
        ({"response": {"successStatus": [999]}}, "response.successStatus[0]", "at most 599"),
        ({"response": {"path": "a["}}, "response.path", "cannot be read as JMESPath"),
    ],
)
def test_a_misshapen_part_is_told_at_its_place(part, path, told):
    assert told in problems({"url": "https://example.com", **part})[f"$.definition.{path}"]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://example.com/", "Write https://host/path"),
        ("example.com/x", "Write https://host/path"),
        ("https://example.com/#part", "Write https://host/path"),
        ("{{ args.city }}://example.com/", "Write https://host/path"),
        ("https:///x", "names no host"),
        ("https://exa mple.com/", "names no host"),
        ("https://example.com:99999/", "names no host"),
        ("https://user:key@example.com/", "user name and password"),
        ("https://{{ args.city }}/", "host must be fixed"),
        ("https://{{ args.city }}.example.com/", "host must be fixed"),
        ("https://{{ args.region || 'x' }}.example.com/", "host must be fixed"),
        ("https://example.com{{ args.city }}/", "host must be fixed"),
        ("https://example.com:{{ args.days }}/", "host must be fixed"),
        ("https://example.com/a b", "written as %20"),
        ("https://example.com/a/../b", "without “.”"),
        ("https://example.com/a/%2E./b", "without “.”"),
        ("https://example.com/{{ args.city }", "not closed"),
        ("https://example.com/{{ }}", "is empty"),
        ("https://example.com/{{ args. }}", "cannot be read"),
        ("https://example.com/{{ city }}", "does not name an argument"),
        ("https://example.com/{{ args.town }}", "“town” is not among the inputs"),
    ],
)
def test_a_url_that_cannot_be_held_to_its_host_is_told(url, told):
    assert told in problems({"url": url})["$.definition.url"]


def test_an_argument_whose_values_are_listed_may_stand_in_the_host():
    assert problems({"url": "https://{{ args.region }}.example.com/"}) == {}
    listed = {**CITY, "properties": {"region": {"enum": ["eu", "evil.com/"]}}}
    found = problems({"url": "https://{{ args.region }}.example.com/"}, listed)
    assert "host must be fixed" in found["$.definition.url"]


@pytest.mark.parametrize(
    ("headers", "place", "told"),
    [
        ({"Authorization": "Bearer abc"}, "Authorization", "by the sign-in"),
        ({"cookie": "a=b"}, "cookie", "by the sign-in"),
        ({"Host": "evil.com"}, "Host", "is set when the request is sent"),
        ({"Content-Length": "0"}, "Content-Length", "is set when the request is sent"),
        ({"X A": "1"}, "X A", "not the name of a header"),
        ({"X-A": "1\r\nX-B: 2"}, "X-A", "on one line"),
        ({"X-A": "1", "x-a": "2"}, "x-a", "twice"),
    ],
)
def test_a_header_that_must_not_be_set_is_told(headers, place, told):
    found = problems({"url": "https://example.com", "headers": headers})
    assert told in found[f"$.definition.headers.{place}"]


@pytest.mark.parametrize(
    ("auth", "place", "told"),
    [
        ({"type": "basic", "env": "P"}, "username", "Write the user name"),
        ({"type": "basic", "env": "P", "username": "a", "usernameEnv": "U"}, "username", "Write"),
        ({"type": "basic", "env": "P", "username": "a:b"}, "username", "no colon"),
        ({"type": "header", "env": "K", "name": "Host"}, "name", "is set when"),
        ({"type": "header", "env": "K", "name": "x-key"}, "name", "among the headers"),
        ({"type": "query", "env": "K", "name": "q"}, "name", "among the query"),
    ],
)
def test_a_sign_in_that_clashes_is_told(auth, place, told):
    definition = {
        "url": "https://example.com",
        "headers": {"X-Key": "1"},
        "query": {"q": "1"},
        "auth": auth,
    }
    assert told in problems(definition)[f"$.definition.auth.{place}"]


def test_a_get_has_no_body():
    found = problems({"url": "https://example.com", "body": {"type": "text", "value": ""}})
    assert "has no body" in found["$.definition.body"]


def test_a_body_that_is_nested_too_deeply_is_told():
    value = {}
    for _ in range(40):
        value = {"in": value}
    definition = {"method": "POST", "url": "https://example.com"}
    found = problems({**definition, "body": {"type": "json", "value": value}})
    assert "levels deep" in found["$.definition.body.value"]


def test_an_argument_that_there_is_not_is_told_in_every_place():
    definition = {
        "method": "POST",
        "url": "https://example.com",
        "query": {"q": "{{ args.x }}"},
        "headers": {"X-A": "{{ args.x }}"},
        "body": {"type": "json", "value": {"a": [{"b": "{{ args.x }}"}]}},
    }
    assert set(problems(definition)) == {
        "$.definition.query.q",
        "$.definition.headers.X-A",
        "$.definition.body.value",
    }


def test_the_error_names_the_fields():
    with pytest.raises(ApiInvalid, match=r"auth\.env: This is missing") as caught:
        parse({"url": "https://example.com", "auth": {"type": "bearer"}})
    assert caught.value.extra["problems"] == [
        {"path": "$.definition.auth.env", "message": "This is missing."}
    ]


def test_the_host_of_a_template_is_told_as_a_person_would_write_it():
    assert (
        host_of("https://{{ args.region }}.example.com:8443/{{ args.x }}") == "….example.com:8443"
    )
    assert host_of("nonsense") == ""


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"headers": {"X-Api-Key": "sk-live-1"}}, "headers.X-Api-Key"),
        ({"headers": {"x-auth-token": "abc"}}, "headers.x-auth-token"),
        ({"query": {"access_token": "abc"}}, "query.access_token"),
        ({"url": "https://example.com/?a=1&apikey=abc"}, "url"),
    ],
)
def test_a_key_that_is_written_out_is_refused(part, path):
    assert "sign-in" in problems({"url": "https://example.com", **part})[f"$.definition.{path}"]


@pytest.mark.parametrize(
    "part",
    [
        {"headers": {"X-Max-Tokens": "5"}},
        {"query": {"token": "{{ args.city }}", "keyword": "a"}},
        {"url": "https://example.com/?token={{ args.city }}"},
    ],
)
def test_what_only_sounds_like_a_key_is_not(part):
    assert problems({"url": "https://example.com", **part}, CITY) == {}


MULTIPART = {
    "method": "POST",
    "url": URL,
    "body": {"type": "multipart", "value": {"f": "{{ args.note }}", "g": "1"}, "files": ["f"]},
    "auth": {"type": "cookie", "env": "SESSION", "name": "sid"},
    "moreAuth": [{"type": "query", "env": "KEY", "name": "key"}],
    "cookies": {"lang": "{{ args.region }}"},
    "signInOptional": True,
}


def test_files_cookies_and_further_sign_ins_go_in_and_come_out():
    assert problems(MULTIPART) == {}
    stored = to_json(parse(MULTIPART))
    assert {key: stored[key] for key in ("cookies", "moreAuth", "signInOptional")} == {
        key: MULTIPART[key] for key in ("cookies", "moreAuth", "signInOptional")
    }
    assert variables_of(stored) == ["SESSION", "KEY"]


def test_parts_that_say_nothing_are_not_stored():
    assert not {"cookies", "moreAuth", "signInOptional"} & set(to_json(parse({"url": URL})))


def test_two_sign_ins_for_one_header_and_a_wrong_cookie_are_told():
    told = problems(
        {
            "url": URL,
            "cookies": {"a b": "{{ args.nope }}"},
            "auth": {"type": "bearer", "env": "A"},
            "moreAuth": [{"type": "basic", "env": "B", "username": "me"}],
        }
    )
    assert "Only one sign-in" in told["$.definition.moreAuth"]
    assert "not the name of a cookie" in told["$.definition.cookies.a b"]
    assert "“nope” is not among" in told["$.definition.cookies.a b"]


def test_the_form_keeps_the_parts_that_it_does_not_show(alice):
    tool = make_api_tool(alice, MULTIPART)
    data = QueryDict(mutable=True)
    data.update({name: value for name, value in initial_of(tool).items() if value is not None})
    form = ApiToolForm(data, user=alice, tool=tool)
    assert form.is_valid(), form.errors
    assert parse(form.definition()) == parse(MULTIPART)
