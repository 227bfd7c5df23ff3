"""The shape of an HTTP tool: one request with templates, its sign-in, and what its answer gives.

`parse` is the only way in; it tells everything that is wrong at once, each problem with its place,
so that the form can show it beside the field.
"""

import re
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ENV_NAME = r"^[A-Z_][A-Z0-9_]{0,99}$"
HEADER_NAME = r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$"
"""The form of a header's name."""

LARGEST_ANSWER = 10_000_000
MOST_ENTRIES = 50
LONGEST_TEMPLATE = 20_000

NO_INPUT: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
"""The input schema of a tool that takes nothing."""

EnvName = Annotated[str, Field(pattern=ENV_NAME)]


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class BearerAuth(_Part):
    """`Authorization: Bearer <value of env>`."""

    type: Literal["bearer"]
    env: EnvName


class BasicAuth(_Part):
    """A user name, written here or in a variable, and a password in a variable."""

    type: Literal["basic"]
    env: EnvName
    username: str = Field(default="", max_length=200)
    username_env: EnvName | None = None


class HeaderAuth(_Part):
    """A key in a header of its own, such as `X-Api-Key`; `prefix` stands before it."""

    type: Literal["header"]
    env: EnvName
    name: str = Field(pattern=HEADER_NAME)
    prefix: str = Field(default="", max_length=40, pattern=r"^[\x20-\x7e]*$")


class QueryAuth(_Part):
    """A key in the query of the URL."""

    type: Literal["query"]
    env: EnvName
    name: str = Field(min_length=1, max_length=100)


class CookieAuth(_Part):
    """A key in a cookie."""

    type: Literal["cookie"]
    env: EnvName
    name: str = Field(pattern=HEADER_NAME)


class CallerAuth(_Part):
    """The caller's own token, for services of the same trust domain."""

    type: Literal["oauth_caller"]


OwnAuth = Annotated[
    BearerAuth | BasicAuth | HeaderAuth | QueryAuth | CookieAuth, Field(discriminator="type")
]
"""A sign-in with values of variables."""

Auth = Annotated[
    BearerAuth | BasicAuth | HeaderAuth | QueryAuth | CookieAuth | CallerAuth,
    Field(discriminator="type"),
]


class JsonBody(_Part):
    """JSON; every text in it is a template. A text that is one expression keeps its type."""

    type: Literal["json"]
    value: Any


class FormBody(_Part):
    """Fields as a web form sends them; an optional one without a value is left out."""

    type: Literal["form"]
    value: dict[str, str] = Field(max_length=MOST_ENTRIES)


class TextBody(_Part):
    """Text as it is, after its expressions are filled."""

    type: Literal["text"]
    value: str = Field(max_length=LONGEST_TEMPLATE)
    content_type: str = Field(
        default="text/plain; charset=utf-8", max_length=200, pattern=r"^[\x20-\x7e]+$"
    )


class MultipartBody(_Part):
    """Fields as a web form with files sends them; those in `files` are base64 and go as files."""

    type: Literal["multipart"]
    value: dict[str, str] = Field(max_length=MOST_ENTRIES)
    files: Annotated[tuple[str, ...], Field(strict=False, max_length=MOST_ENTRIES)] = ()


class BinaryBody(_Part):
    """Bytes; the template gives them as base64."""

    type: Literal["binary"]
    value: str = Field(max_length=LONGEST_TEMPLATE)
    content_type: str = Field(
        default="application/octet-stream", max_length=200, pattern=r"^[\x20-\x7e]+$"
    )


Body = Annotated[
    JsonBody | FormBody | TextBody | MultipartBody | BinaryBody, Field(discriminator="type")
]


class Response(_Part):
    """`path` is JMESPath over a JSON answer; without `success_status` any 2xx is a success."""

    path: str = ""
    success_status: Annotated[
        tuple[Annotated[int, Field(ge=100, le=599)], ...], Field(strict=False)
    ] = ()


class ApiDefinition(_Part):
    """One HTTP request.

    `more_auth` are sent beside `auth`; where signing in is optional, a call whose credentials are
    not all set goes out without.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: str = Field(min_length=1, max_length=2_000)
    headers: dict[str, str] = Field(default_factory=dict, max_length=MOST_ENTRIES)
    query: dict[str, str] = Field(default_factory=dict, max_length=MOST_ENTRIES)
    body: Body | None = None
    auth: Auth | None = None
    cookies: dict[str, str] = Field(default_factory=dict, max_length=MOST_ENTRIES)
    more_auth: Annotated[tuple[OwnAuth, ...], Field(strict=False, max_length=4)] = ()
    sign_in_optional: bool = False
    response: Response = Field(default_factory=Response)
    max_bytes: int = Field(default=1_000_000, ge=1, le=LARGEST_ANSWER)
    timeout_seconds: int = Field(default=30, ge=1, le=300)


class ApiProblem(NamedTuple):
    """One thing to mend and its place, such as `$.definition.auth.env`."""

    path: str
    message: str


class ApiInvalid(InvalidInput):
    """The HTTP tool is not valid."""

    code = "invalid_api_definition"
    default_hint = "Correct the named fields and save again."

    def __init__(self, problems: list[ApiProblem]) -> None:
        self.problems = problems
        told = "; ".join(f"{_short(problem.path)}: {problem.message}" for problem in problems[:10])
        super().__init__(
            f"The tool is not valid: {told}",
            problems=[problem._asdict() for problem in problems],
        )


def parse(data: JsonValue) -> ApiDefinition:
    """Return the definition that `data` describes; raise ApiInvalid with what is misshapen.

    What the parts mean together is the business of `registry.api_rules`.
    """
    try:
        return ApiDefinition.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        raise ApiInvalid([_problem(detail) for detail in found]) from None


def to_json(definition: ApiDefinition) -> JsonObject:
    """Return the definition as JSON; `parse` takes it back."""
    told = definition.model_dump(mode="json", by_alias=True)
    return {key: value for key, value in told.items() if value or key not in SELDOM}


SELDOM = frozenset({"cookies", "moreAuth", "signInOptional"})
"""Parts that are left out where they say nothing."""


def variables_of(definition: JsonObject) -> list[str]:
    """Return the names of the variables that a stored definition's sign-in reads."""
    auths = [definition.get("auth") or {}, *definition.get("moreAuth", ())]
    named = [auth[key] for auth in auths for key in ("env", "usernameEnv") if auth.get(key)]
    return list(dict.fromkeys(named))


def _problem(error: ErrorDetails) -> ApiProblem:
    place = [part for part in error["loc"] if part not in _TAGS_AT.get(error["loc"][:1], ())]
    path = "$.definition" + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in place
    )
    return ApiProblem(path, _message(error))


_TAGS_AT: dict[tuple[int | str, ...], tuple[str, ...]] = {
    ("auth",): ("bearer", "basic", "header", "query", "cookie", "oauth_caller"),
    ("body",): ("json", "form", "text", "multipart", "binary"),
}
"""Pydantic puts the kind of a part into the place of an error; a person does not write it there."""

_MESSAGES = {
    "missing": "This is missing.",
    "extra_forbidden": "This is not known here.",
    "string_type": "This must be text.",
    "int_type": "This must be a whole number.",
    "dict_type": "This must be an object.",
    "model_type": "This must be an object.",
    "model_attributes_type": "This must be an object.",
    "tuple_type": "This must be a list.",
    "literal_error": "This must be {expected}.",
    "union_tag_invalid": "This type is not known. Known: {expected_tags}.",
    "union_tag_not_found": "Say of which type it is.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This must be at most {le}.",
    "string_too_short": "This must not be empty.",
    "string_too_long": "At most {max_length} characters fit.",
    "too_long": "At most {max_length} entries fit.",
}
_PATTERNS = {
    ENV_NAME: "Write the variable's name in capitals, digits and _, such as ACME_API_KEY.",
    HEADER_NAME: "This is not the name of a header.",
}


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    if error["type"] == "string_pattern_mismatch":
        return _PATTERNS.get(context["pattern"], "It holds characters that cannot be sent.")
    return _MESSAGES.get(error["type"], "This does not fit here.").format_map(context)


def _short(path: str) -> str:
    return re.sub(r"^\$\.(definition\.)?", "", path)
