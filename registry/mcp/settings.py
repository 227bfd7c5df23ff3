"""What a package of ecosystem `mcp` says of its server (`Package.settings`), checked."""

import re
from itertools import pairwise
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from config.lib.errors import InvalidInput
from config.lib.secret_names import names_a_secret
from config.lib.types import JsonObject

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
HEADER = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"
RESERVED_HEADERS = re.compile(
    r"host|content-.*|transfer-encoding|connection|accept.*|mcp-.*|cookie|upgrade|te|trailer"
)
PACKAGE = r"^@?[A-Za-z0-9~][A-Za-z0-9._~/\[\],-]*$"
SCHEMES = ("http", "https")


def _checked_url(url: str) -> str:
    if re.search(r"[\s\x00-\x1f\x7f]", url):
        raise ValueError("must not have spaces or control characters")
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ValueError("must be an http or https address with a host")
    if parts.username or parts.password:
        raise ValueError("must not hold a user name or password; use a credential for that")
    if any(names_a_secret(name) for name, _ in parse_qsl(parts.query)):
        raise ValueError("must not hold a key; sign in by a header, whose value is a credential")
    if parts.fragment:
        raise ValueError("must not have a # part")
    _ = parts.port  # raises ValueError when it is no port
    return url


def _checked_header(name: str) -> str:
    if RESERVED_HEADERS.fullmatch(name.lower()):
        raise ValueError("is a header that is set by the client itself")
    return name


def _checked_argument(argument: str) -> str:
    if "\0" in argument:
        raise ValueError("must not have a NUL in it")
    return argument


def _checked_arguments(arguments: list[str]) -> list[str]:
    """Refuse a key that is written out: everybody who sees the package reads its arguments."""
    for before, argument in pairwise(["", *arguments]):
        name, given, _ = argument.partition("=")
        option = name if given else before
        told = given or not argument.startswith("-")
        if option.startswith("-") and told and names_a_secret(option.lstrip("-")):
            raise ValueError(f"{option} must not be written out; let the server read a variable")
    return arguments


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Bearer(_Shape):
    """Sign in with `Authorization: Bearer <the variable's value>`."""

    type: Literal["bearer"]
    env: Annotated[str, Field(pattern=VARIABLE)]

    def header(self, value: str) -> tuple[str, str]:
        """Return the header to send for the variable's value."""
        return "Authorization", f"Bearer {value}"


class Header(_Shape):
    """Sign in with a header of one's own, such as `X-API-Key`."""

    type: Literal["header"]
    name: Annotated[str, Field(pattern=HEADER), AfterValidator(_checked_header)]
    env: Annotated[str, Field(pattern=VARIABLE)]

    def header(self, value: str) -> tuple[str, str]:
        """Return the header to send for the variable's value."""
        return self.name, value


class HttpServer(_Shape):
    """A remote server. `protocol` is the version that it was found to speak."""

    transport: Literal["http"]
    url: Annotated[str, Field(max_length=2000), AfterValidator(_checked_url)]
    auth: Annotated[Bearer | Header, Field(discriminator="type")] | None = None
    protocol: str = ""


class StdioServer(_Shape):
    """A server in a package, run in the sandbox. An empty `command` means its only one."""

    transport: Literal["stdio"]
    ecosystem: Literal["npm", "pypi"]
    package: Annotated[str, Field(min_length=1, max_length=214, pattern=PACKAGE)]
    command: Annotated[str, Field(max_length=200)] = ""
    args: Annotated[
        list[Annotated[str, Field(max_length=4096), AfterValidator(_checked_argument)]],
        Field(max_length=64),
        AfterValidator(_checked_arguments),
    ] = []
    protocol: str = ""


Server = HttpServer | StdioServer

_adapter: TypeAdapter[Server] = TypeAdapter(
    Annotated[HttpServer | StdioServer, Field(discriminator="transport")]
)


def server_of(settings: Any) -> Server:
    """Parse settings; raises InvalidInput whose `problems` name the fields."""
    try:
        return _adapter.validate_python(settings)
    except ValidationError as error:
        problems = [
            {"path": ".".join(map(str, item["loc"][1:])) or "settings", "message": _said(item)}
            for item in error.errors()
        ]
        first = problems[0]
        raise InvalidInput(
            f"These are not the settings of an MCP server: {first['path']}: {first['message']}.",
            'Send {"transport": "http", "url": …} or {"transport": "stdio", "ecosystem": "npm", '
            '"package": …}.',
            problems=problems,
        ) from None


def settings_of(server: Server) -> JsonObject:
    """Return a server as `Package.settings` keeps it."""
    return server.model_dump(mode="json", exclude_defaults=True)


def variables_of(server: Server) -> tuple[str, ...]:
    """Return the variables that the sign-in needs."""
    return (server.auth.env,) if isinstance(server, HttpServer) and server.auth else ()


def _said(item: Any) -> str:
    return str(item["msg"]).removeprefix("Value error, ")
