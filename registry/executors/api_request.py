"""Make the HTTP request of a tool from its templates, a call's arguments and its credentials."""

import base64
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import httpx

from config.lib.types import JsonObject
from registry.api_definition import (
    ApiDefinition,
    BasicAuth,
    BearerAuth,
    BinaryBody,
    CookieAuth,
    FormBody,
    HeaderAuth,
    JsonBody,
    MultipartBody,
    QueryAuth,
    TextBody,
    to_json,
    variables_of,
)
from registry.api_templates import (
    OMITTED,
    Given,
    Omitted,
    as_text,
    render_json,
    render_text,
    render_url,
    render_value,
)
from registry.errors import InvalidArguments, UpstreamAuth

SENDABLE = re.compile(r"[\x20-\x7e\t]*")
USUAL_HEADERS = {"User-Agent": "Outfitter", "Accept": "application/json, */*;q=0.5"}

Pairs = list[tuple[str, str]]


@dataclass
class Prepared:
    """A request that is ready to be sent, and what must never be shown of it."""

    request: httpx.Request
    secrets: set[str] = field(default_factory=set)

    def sign(self, header: str, *secrets: str) -> None:
        """Set the Authorization header and remember what to hide."""
        self.request.headers["Authorization"] = header
        self.secrets |= {header.partition(" ")[2], *secrets}


def prepared(definition: ApiDefinition, arguments: JsonObject, env: Mapping[str, str]) -> Prepared:
    """Return the request; raise InvalidArguments for an argument that it cannot carry."""
    given = Given(arguments)
    pairs = _pairs(definition.query, given)
    secrets = set(env.values())
    secrets |= {quote(value, safe="") for value in secrets}
    headers = _headers(definition, given)
    cookies = _cookies(definition.cookies, given)
    authorization = _sign_in(definition, env, headers, pairs, cookies)
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={quote(value)}" for name, value in cookies)
    content = _content(definition, given, headers)
    url = _url(definition, given, pairs)
    ready = Prepared(httpx.Request(definition.method, url, headers=headers, content=content))
    ready.secrets |= secrets | {urlencode({"": value})[1:] for value in env.values()}
    if authorization:
        ready.sign(authorization)
    return ready


def _sign_in(
    definition: ApiDefinition,
    env: Mapping[str, str],
    headers: httpx.Headers,
    pairs: Pairs,
    cookies: Pairs,
) -> str:
    """Put the credentials where they go and return the Authorization header, empty if none."""
    authorization = ""
    auths = [auth for auth in (definition.auth, *definition.more_auth) if auth]
    if definition.sign_in_optional and not all(map(env.get, variables_of(to_json(definition)))):
        return authorization
    for auth in auths:
        match auth:
            case BearerAuth(env=name):
                authorization = f"Bearer {_sendable(env, name)}"
            case BasicAuth(env=name, username=username, username_env=named):
                user = env[named] if named else username
                login = base64.b64encode(f"{user}:{env[name]}".encode()).decode()
                authorization = f"Basic {login}"
            case HeaderAuth(env=name, name=header, prefix=prefix):
                headers[header] = prefix + _sendable(env, name)
            case QueryAuth(env=name, name=parameter):
                pairs.append((parameter, env[name]))
            case CookieAuth(env=name, name=cookie):
                cookies.append((cookie, env[name]))
    return authorization


def _cookies(templates: Mapping[str, str], given: Given) -> Pairs:
    filled = {name: render_text(template, given) for name, template in templates.items()}
    return [(name, value) for name, value in filled.items() if not isinstance(value, Omitted)]


def _url(definition: ApiDefinition, given: Given, pairs: Pairs) -> httpx.URL:
    origin, path, query = render_url(definition.url, given)
    query = "&".join(part for part in (query, urlencode(pairs, quote_via=quote)) if part)
    try:
        url, meant = httpx.URL(f"{origin}{path}{'?' if query else ''}{query}"), httpx.URL(origin)
    except httpx.InvalidURL:
        raise InvalidArguments(
            "The request cannot be made: its address would be too long.", "Send shorter values."
        ) from None
    if (url.scheme, url.raw_host, url.port) != (meant.scheme, meant.raw_host, meant.port):
        raise InvalidArguments("The request cannot be made: an argument would change its host.")
    return url


def _pairs(templates: Mapping[str, str], given: Given) -> Pairs:
    """Fill a query or a form; a list becomes the same name several times."""
    pairs: Pairs = []
    for name, template in templates.items():
        value = render_value(template, given)
        if value is OMITTED:
            continue
        values = value if isinstance(value, list) else [value]
        pairs += [(name, as_text(item)) for item in values]
    return pairs


def _headers(definition: ApiDefinition, given: Given) -> httpx.Headers:
    headers = httpx.Headers(USUAL_HEADERS)
    for name, template in definition.headers.items():
        value = render_text(template, given)
        if isinstance(value, Omitted):
            continue
        if not SENDABLE.fullmatch(value):
            raise InvalidArguments(
                f"The request cannot be made: the header {name} holds plain ASCII on one line.",
                "Send a value without line breaks and special characters.",
            )
        headers[name] = value
    return headers


def _content(definition: ApiDefinition, given: Given, headers: httpx.Headers) -> bytes | None:
    match definition.body:
        case None:
            return None
        case JsonBody(value=template):
            kind, value = "application/json", render_json(template, given)
            text = "" if value is OMITTED else json.dumps(value, ensure_ascii=False)
        case MultipartBody(value=templates, files=files):
            return _multipart(_pairs(templates, given), files, headers)
        case BinaryBody(value=template, content_type=kind):
            filled = render_text(template, given)
            headers.setdefault("Content-Type", kind)
            return b"" if isinstance(filled, Omitted) else _unpacked("body", filled)
        case FormBody(value=templates):
            kind = "application/x-www-form-urlencoded"
            text = urlencode(_pairs(templates, given))
        case TextBody(value=template, content_type=kind):
            filled = render_text(template, given)
            text = "" if isinstance(filled, Omitted) else filled
    headers.setdefault("Content-Type", kind)
    return text.encode()


def _multipart(pairs: Pairs, files: Collection[str], headers: httpx.Headers) -> bytes:
    """Return the fields as multipart/form-data and say so in the headers."""
    parts = [
        (name, (name, _unpacked(name, value)) if name in files else (None, value.encode()))
        for name, value in pairs
    ]
    if not parts:
        return b""
    request = httpx.Request("POST", "http://form/", files=parts)
    headers["Content-Type"] = request.headers["Content-Type"]
    return request.read()


def _unpacked(name: str, value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise InvalidArguments(
            f"The request cannot be made: “{name}” is not base64.",
            "Send the bytes of the file as base64.",
        ) from None


def _sendable(env: Mapping[str, str], name: str) -> str:
    value = env[name]
    if not SENDABLE.fullmatch(value):
        raise UpstreamAuth(
            f"The value of {name} holds characters that cannot be sent in a header.",
            f"Set {name} again under Credentials.",
        )
    return value
