"""Templates are filled, and no argument gets out of its place."""

import json

import pytest

from registry.api_definition import parse
from registry.errors import InvalidArguments, UpstreamAuth
from registry.executors.api_request import prepared

BASE = {"url": "https://api.example.com/v1/{{ args.id }}/x"}


def request(definition, arguments, env=None):
    return prepared(parse({**BASE, **definition}), arguments, env or {}).request


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a b", "/v1/a%20b/x"),
        ("a/b", "/v1/a%2Fb/x"),
        ("../../admin", "/v1/..%2F..%2Fadmin/x"),
        ("a?q=1#f", "/v1/a%3Fq%3D1%23f/x"),
        ("a%2Fb", "/v1/a%252Fb/x"),
        ("@evil.com", "/v1/%40evil.com/x"),
        ("\\evil", "/v1/%5Cevil/x"),
        ("a\r\nX: 1", "/v1/a%0D%0AX%3A%201/x"),
        ("ü", "/v1/%C3%BC/x"),
        (7, "/v1/7/x"),
        (True, "/v1/true/x"),
    ],
)
def test_an_argument_stays_within_its_path_segment(value, path):
    url = request({}, {"id": value}).url
    assert url.raw_path.decode() == path
    assert url.host == "api.example.com"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [({"id": ".."}, "change its path"), ({"id": "."}, "change its path"), ({}, "“id” is needed"),
     ({"id": ""}, "“id” must not be empty"), ({"id": None}, "“id” is needed")],
)  # fmt: skip
def test_an_argument_that_would_change_the_path_is_refused(arguments, told):
    with pytest.raises(InvalidArguments, match=told):
        request({}, arguments)


def test_dots_that_are_put_together_from_two_arguments_are_refused():
    with pytest.raises(InvalidArguments, match="change its path"):
        request({"url": "https://e.com/{{ args.a }}{{ args.b }}/x"}, {"a": ".", "b": "."})


@pytest.mark.parametrize("value", ["evil.com/", "a.evil", "eu@evil", "", "eu#", "x" * 64])
def test_an_argument_in_the_host_can_be_one_label_only(value):
    with pytest.raises(InvalidArguments, match="name of a host"):
        request({"url": "https://{{ args.r }}.e.com/"}, {"r": value or "-"})


def test_a_listed_argument_chooses_the_host():
    url = request({"url": "https://{{ args.r }}.e.com/"}, {"r": "eu"}).url
    assert str(url) == "https://eu.e.com/"


def test_a_query_takes_lists_leaves_out_what_is_missing_and_escapes_the_rest():
    definition = {
        "url": "https://e.com/?fixed=1&in={{ args.a }}",
        "query": {"q": "{{ args.a }}", "t": "{{ args.tags }}", "no": "{{ args.no }}", "b": "x y"},
    }
    url = request(definition, {"a": "1&admin=1", "tags": ["a", "b&c"]}).url
    assert url.query.decode() == ("fixed=1&in=1%26admin%3D1&q=1%26admin%3D1&t=a&t=b%26c&b=x%20y")


def test_a_header_is_filled_and_an_optional_one_left_out():
    sent = request({"headers": {"X-A": "v{{ args.a }}", "X-B": "{{ args.b }}"}}, {"id": 1, "a": 2})
    assert sent.headers["x-a"] == "v2"
    assert "x-b" not in sent.headers


@pytest.mark.parametrize("value", ["a\r\nX-B: 1", "a\nb", "ü", "a\0"])
def test_a_header_cannot_be_broken_up(value):
    with pytest.raises(InvalidArguments, match="header X-A"):
        request({"headers": {"X-A": "{{ args.a }}"}}, {"id": 1, "a": value})


def test_a_json_body_keeps_types_and_leaves_out_what_is_missing():
    body = {
        "n": "{{ args.n }}",
        "no": "{{ args.no }}",
        "list": ["{{ args.no }}", "{{ args.flag }}", 1],
        "text": "n is {{ args.n }}",
        "quoted": "{{ args.q }}",
        "all": "{{ args }}",
    }
    arguments = {"id": 1, "n": 5, "flag": False, "q": '"}, "admin": true, {"'}
    sent = request({"method": "POST", "body": {"type": "json", "value": body}}, arguments)
    assert json.loads(sent.content) == {
        "n": 5,
        "list": [None, False, 1],
        "text": "n is 5",
        "quoted": '"}, "admin": true, {"',
        "all": arguments,
    }
    assert sent.headers["content-type"] == "application/json"


def test_a_form_body_is_encoded():
    body = {"type": "form", "value": {"a": "{{ args.a }}", "no": "{{ args.no }}", "t": "x"}}
    sent = request({"method": "POST", "body": body}, {"id": 1, "a": "1&t=y"})
    assert sent.content == b"a=1%26t%3Dy&t=x"
    assert sent.headers["content-type"] == "application/x-www-form-urlencoded"


def test_a_text_body_has_its_content_type_which_a_header_overrides():
    body = {"type": "text", "value": "<a>{{ args.a }}</a>", "contentType": "application/xml"}
    sent = request({"method": "POST", "body": body}, {"id": 1, "a": 2})
    assert (sent.content, sent.headers["content-type"]) == (b"<a>2</a>", "application/xml")
    own = {"method": "POST", "body": body, "headers": {"Content-Type": "text/x"}}
    assert request(own, {"id": 1, "a": 2}).headers["content-type"] == "text/x"


def test_an_expression_may_be_more_than_a_path():
    url = request({"query": {"t": "{{ join(',', args.tags) }}"}}, {"id": 1, "tags": ["a", "b"]}).url
    assert url.query == b"t=a%2Cb"


def test_an_expression_that_does_not_fit_the_arguments_is_told():
    with pytest.raises(InvalidArguments, match="join"):
        request({"query": {"t": "{{ join(',', args.tags) }}"}}, {"id": 1, "tags": 5})


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"type": "bearer", "env": "K"}, "authorization", "Bearer s3cret"),
        ({"type": "basic", "env": "K", "username": "me"}, "authorization", "Basic bWU6czNjcmV0"),
        (
            {"type": "basic", "env": "K", "usernameEnv": "U"},
            "authorization",
            "Basic dXNlcjpzM2NyZXQ=",
        ),
        ({"type": "header", "env": "K", "name": "X-Key"}, "x-key", "s3cret"),
        ({"type": "header", "env": "K", "name": "X-Key", "prefix": "k "}, "x-key", "k s3cret"),
    ],
)
def test_each_sign_in_puts_the_credential_in_its_place(auth, header, value):
    sent = request({"auth": auth}, {"id": 1}, {"K": "s3cret", "U": "user"})
    assert sent.headers[header] == value


def test_a_key_in_the_query_is_escaped_and_all_its_forms_are_to_be_hidden():
    definition = parse({**BASE, "auth": {"type": "query", "env": "K", "name": "key"}})
    ready = prepared(definition, {"id": 1}, {"K": "s3 cret&"})
    assert ready.request.url.query == b"key=s3%20cret%26"
    assert {"s3 cret&", "s3%20cret%26", "s3+cret%26"} <= ready.secrets


def test_a_credential_that_no_header_can_hold_is_refused_without_repeating_it():
    with pytest.raises(UpstreamAuth, match="value of K") as caught:
        request({"auth": {"type": "bearer", "env": "K"}}, {"id": 1}, {"K": "s3cret\n"})
    assert "s3cret" not in str(caught.value.as_dict())


@pytest.mark.parametrize(
    "expression", ["args" + " | [@, @]" * 40, "args.a" + " | join('', [@, @])" * 20]
)
def test_an_expression_that_doubles_without_end_is_stopped(expression):
    with pytest.raises(InvalidArguments, match="takes too long"):
        request({"query": {"q": f"{{{{ {expression} }}}}"}}, {"id": 1, "a": "x" * 100})
