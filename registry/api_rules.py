"""What the parts of an HTTP tool must keep to together: its URL, templates, headers and inputs."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

import httpx

from config.lib.addresses import HIGHEST_PORT, canonical_host
from config.lib.secret_names import names_a_secret
from config.lib.types import JsonSchema, JsonValue
from registry.api_definition import (
    HEADER_NAME,
    ApiDefinition,
    ApiProblem,
    Auth,
    BasicAuth,
    BearerAuth,
    BinaryBody,
    FormBody,
    HeaderAuth,
    JsonBody,
    MultipartBody,
    QueryAuth,
    TextBody,
)
from registry.api_templates import (
    HOST_PART,
    expressions_in,
    path_problem,
    plain_argument,
    split_url,
    steps_up,
    template_problems,
)

DEEPEST_BODY = 30
SET_BY_AUTH = frozenset({"authorization", "proxy-authorization", "cookie"})
SET_BY_CLIENT = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te",
     "upgrade", "keep-alive", "trailer", "expect", "proxy-connection"}
)  # fmt: skip
PRINTABLE = re.compile(r"[\x20-\x7e\t]*")


def rule_problems(definition: ApiDefinition, schema: JsonSchema) -> Iterator[ApiProblem]:
    """Yield everything that keeps a well-shaped definition from being used with these inputs."""
    yield from _url_problems(definition.url, schema)
    yield from _header_problems(definition, schema)
    for name, text in definition.query.items():
        yield from _template_problems(f"query.{name}", text, schema)
        yield from _secret_problems(f"query.{name}", name, text)
    for name, text in definition.cookies.items():
        if not re.match(HEADER_NAME, name):
            yield _at(f"cookies.{name}", f"“{name[:100]}” is not the name of a cookie.")
        yield from _template_problems(f"cookies.{name}", text, schema)
    yield from _body_problems(definition, schema)
    yield from _auth_problems(definition, definition.auth, "auth")
    for index, auth in enumerate(definition.more_auth):
        yield from _auth_problems(definition, auth, f"moreAuth[{index}]")
    signing = [auth for auth in (definition.auth, *definition.more_auth) if _authorizes(auth)]
    if definition.more_auth and len(signing) > 1:
        yield _at("moreAuth", "Only one sign-in can set the header Authorization.")
    if definition.response.path.strip() and (problem := path_problem(definition.response.path)):
        yield _at("response.path", problem)


def host_of(url: str) -> str:
    """Return the host and port that a URL template asks, as a person would write it."""
    parts = split_url(url)
    return re.sub("\ue000[0-9]+\ue001", "…", parts.origin.partition("://")[2]) if parts else ""


def _url_problems(url: str, schema: JsonSchema) -> Iterator[ApiProblem]:
    for problem in template_problems(url):
        yield _at("url", problem)
    parts = split_url(url)
    if parts is None:
        yield _at("url", "Write https://host/path; after # nothing is sent, so leave it out.")
        return
    yield from _unknown_arguments("url", url, schema)
    for expression in parts.host_expressions:
        if problem := _host_problem(expression, schema):
            yield _at("url", problem)
    origin = re.sub("\ue000[0-9]+\ue001", "x", parts.origin)
    if "@" in origin:
        yield _at("url", "Leave the user name and password out; set a sign-in instead.")
    elif not _readable(origin):
        yield _at("url", "This names no host that can be asked.")
    elif re.search(r"[\x00-\x20\x7f\\]", parts.path + parts.query):
        yield _at("url", "A blank, a backslash or a control character must be written as %20 etc.")
    elif any(map(steps_up, parts.path.split("/"))):
        yield _at("url", "Write the path without “.” and “..”.")
    for name, value in parse_qsl(parts.query):
        if "\ue000" not in value:
            yield from _secret_problems("url", name, value)


def _readable(origin: str) -> bool:
    try:
        url = httpx.URL(origin)
        named = canonical_host(url.raw_host.decode("ascii"))
    except (httpx.InvalidURL, ValueError):
        return False
    return bool(named) and (url.port is None or 0 < url.port <= HIGHEST_PORT)


def _host_problem(expression: str, schema: JsonSchema) -> str:
    """A host may depend on an argument only where its values are listed beforehand."""
    name = plain_argument(expression)
    declared = _properties(schema).get(name) if name else None
    choices = declared.get("enum") if isinstance(declared, dict) else None
    listed = isinstance(choices, list) and choices
    if not listed or not all(isinstance(c, str) and HOST_PART.fullmatch(c) for c in choices or ()):
        return (
            "The host must be fixed. An argument may stand in it only where the input schema "
            "lists its values as “enum”, each a part of a host's name."
        )
    return ""


def _header_problems(definition: ApiDefinition, schema: JsonSchema) -> Iterator[ApiProblem]:
    seen: set[str] = set()
    for name, text in definition.headers.items():
        place, lower = f"headers.{name}", name.lower()
        if not re.fullmatch(HEADER_NAME, name):
            yield _at(place, f"“{name[:100]}” is not the name of a header.")
        elif lower in SET_BY_AUTH:
            yield _at(
                place, f"Set {name} by the sign-in, so that its value is kept as a credential."
            )
        elif lower in SET_BY_CLIENT:
            yield _at(place, f"{name} is set when the request is sent; leave it out.")
        elif lower in seen:
            yield _at(place, f"{name} stands here twice.")
        else:
            yield from _secret_problems(place, name, text)
        seen.add(lower)
        if not PRINTABLE.fullmatch(text):
            yield _at(place, "A header holds plain ASCII characters on one line.")
        yield from _template_problems(place, text, schema)


def _secret_problems(place: str, name: str, text: str) -> Iterator[ApiProblem]:
    """A definition is shown to everybody who may use the tool, and kept in every version."""
    if names_a_secret(name) and text.strip() and not any(expressions_in(text)):
        yield _at(
            place, f"Everybody who sees the tool would read it. Set {name} by the sign-in instead."
        )


def _body_problems(definition: ApiDefinition, schema: JsonSchema) -> Iterator[ApiProblem]:
    body = definition.body
    if body is not None and definition.method == "GET":
        yield _at("body", "A GET request has no body. Use query parameters, or another method.")
    match body:
        case JsonBody():
            if _depth(body.value) > DEEPEST_BODY:
                yield _at("body.value", f"It is nested more than {DEEPEST_BODY} levels deep.")
            else:
                for text in _texts(body.value):
                    yield from _template_problems("body.value", text, schema)
        case FormBody() | MultipartBody():
            for name, text in body.value.items():
                yield from _template_problems(f"body.value.{name}", text, schema)
        case TextBody() | BinaryBody():
            yield from _template_problems("body.value", body.value, schema)


def _authorizes(auth: Auth | None) -> bool:
    return isinstance(auth, BasicAuth | BearerAuth)


def _auth_problems(
    definition: ApiDefinition, auth: Auth | None, place: str
) -> Iterator[ApiProblem]:
    named = f"{place}.username", f"{place}.name"
    match auth:
        case BasicAuth(username=username, username_env=variable):
            if bool(username) == bool(variable):
                yield _at(named[0], "Write the user name, or name the variable that has it.")
            elif ":" in username or not PRINTABLE.fullmatch(username):
                yield _at(named[0], "A user name holds no colon and no control character.")
        case HeaderAuth(name=name):
            if name.lower() in SET_BY_CLIENT:
                yield _at(named[1], f"{name} is set when the request is sent.")
            elif name.lower() in {key.lower() for key in definition.headers}:
                yield _at(named[1], f"{name} stands among the headers too; leave it out there.")
        case QueryAuth(name=name):
            if name in definition.query:
                yield _at(named[1], f"“{name}” stands among the query parameters too.")


def _template_problems(place: str, text: str, schema: JsonSchema) -> Iterator[ApiProblem]:
    for problem in template_problems(text):
        yield _at(place, problem)
    yield from _unknown_arguments(place, text, schema)


def _unknown_arguments(place: str, text: str, schema: JsonSchema) -> Iterator[ApiProblem]:
    """Tell of arguments that the input schema does not have, as far as it is plain which."""
    known = _properties(schema)
    for expression in expressions_in(text):
        name = plain_argument(expression)
        if name and name not in known:
            told = ", ".join(list(known)[:20]) or "none"
            yield _at(place, f"“{name}” is not among the inputs (there are: {told}).")


def _properties(schema: JsonSchema) -> dict[str, JsonValue]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _depth(value: JsonValue) -> int:
    depth, level = 0, [value] if isinstance(value, dict | list) else []
    while level and depth <= DEEPEST_BODY:
        depth += 1
        inner = [
            part for item in level for part in (item.values() if isinstance(item, dict) else item)
        ]
        level = [part for part in inner if isinstance(part, dict | list)]
    return depth


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)


def _at(place: str, message: str) -> ApiProblem:
    return ApiProblem(f"$.definition.{place}", message)
