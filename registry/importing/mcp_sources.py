"""What is asked for when an MCP server is imported: where it is, its name, what it needs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue
from registry.importing.errors import InvalidPackageName, InvalidPackageVersion, PackageExists
from registry.mcp.settings import (
    VARIABLE,
    HttpServer,
    Server,
    StdioServer,
    server_of,
    settings_of,
    variables_of,
)
from registry.models import Package
from registry.specs import GOVERNED

ENV = "env"
"""Beside the server's settings, a request has the variables that it needs under this key."""

MOST_VARIABLES = 50
_NAME = re.compile(r"[A-Za-z0-9@][\w@./:~+-]{0,213}", re.ASCII)
_VERSION = re.compile(r"[\w^~<>=!*.+| -]{0,64}", re.ASCII)
_PACKAGE = re.compile(r"(npm|pypi):(@?[^@\s=]+)(?:@|==)?(\S*)")


@dataclass(frozen=True, kw_only=True)
class McpRequest:
    """A checked request. `env` is `[{name, description, required}]`."""

    server: Server
    env: list[JsonObject]

    @property
    def settings(self) -> JsonObject:
        """Return the request as an import job keeps it."""
        return {**settings_of(self.server), ENV: self.env}


def request_of(settings: JsonValue) -> McpRequest:
    """Check the settings of a request; raises InvalidInput."""
    given = dict(settings) if isinstance(settings, Mapping) else {}
    env = _variables(given.pop(ENV, []))
    server = server_of(given)
    known = {variable["name"] for variable in env}
    signing = [name for name in variables_of(server) if name not in known]
    return McpRequest(server=server, env=[*map(_variable, signing), *env])


def server_in(package: Package) -> Server:
    """Return the server that a package is, without what was decided about it here."""
    return server_of({key: value for key, value in package.settings.items() if key not in GOVERNED})


def request_again(package: Package) -> McpRequest:
    """Return the request by which a package was imported."""
    return McpRequest(server=server_in(package), env=list(package.env))


def settings_from(
    source: str,
    *,
    arguments: Sequence[str] = (),
    command: str = "",
    bearer: str = "",
    env: Iterable[str] = (),
) -> tuple[JsonObject, str]:
    """Turn what a person writes into `(settings, version)`.

    `source` is an http(s) address, `npm:NAME[@VERSION]` or `pypi:NAME[==VERSION]`; `bearer` names
    the variable that signs in to an address. Raises InvalidInput.
    """
    source = source.strip()
    variables: JsonObject = {ENV: list(env)} if env else {}
    if found := _PACKAGE.fullmatch(source):
        if bearer:
            raise InvalidInput("A package is not signed in to.", "Name its variables instead.")
        settings = {"transport": "stdio", "ecosystem": found[1], "package": found[2]}
        optional = {"args": list(arguments), "command": command}
        filled = {key: value for key, value in optional.items() if value}
        return {**settings, **filled, **variables}, found[3]
    if not source.startswith(("http://", "https://")):
        raise InvalidPackageName(
            f"“{source[:80]}” names no MCP server.",
            "Write its address (https://…), npm:PACKAGE or pypi:PACKAGE.",
        )
    if arguments or command:
        raise InvalidInput("A server at an address takes no arguments.", "Leave them out.")
    signing = {"auth": {"type": "bearer", ENV: bearer}} if bearer else {}
    return {"transport": "http", "url": source, **signing, **variables}, ""


def checked_mcp(
    name: str, version: str, settings: JsonObject | None, package: Package | None
) -> JsonObject:
    """Check a request and return its settings; without any, those of the package that is here.

    Raises InvalidInput, InvalidPackageName, InvalidPackageVersion and PackageExists.
    """
    check_name(name)
    if not _VERSION.fullmatch(version):
        raise InvalidPackageVersion(f"“{version[:80]}” is not a version.")
    if package is not None and settings is None:
        return request_again(package).settings
    request = request_of(settings)
    if package is not None:
        check_source(package, request.server)
    return request.settings


def name_for(server: Server) -> str:
    """Return the name of a server that was given none."""
    if isinstance(server, StdioServer):
        return server.package
    parts = urlsplit(server.url)
    return re.sub(r"[^\w@./:~+-]", "-", f"{parts.netloc}{parts.path.rstrip('/')}")[:214]


def check_name(name: str) -> None:
    """Raise InvalidPackageName where a text cannot name a server."""
    if not _NAME.fullmatch(name):
        raise InvalidPackageName(
            f"“{name[:80]}” cannot be the name of a server.",
            "Use letters, digits and @ . / : _ ~ + -, at most 214 of them.",
        )


def check_source(package: Package, server: Server) -> None:
    """Raise PackageExists where another server has the name already."""
    if package.settings and _source(server_in(package)) != _source(server):
        raise PackageExists(
            f"Another MCP server is called {package.name} already.", "Give this one another name."
        )


def _source(server: Server) -> tuple[str, ...]:
    if isinstance(server, HttpServer):
        return (server.url,)
    return (server.ecosystem, server.package, server.command)


def _variables(given: JsonValue) -> list[JsonObject]:
    if not isinstance(given, list) or len(given) > MOST_VARIABLES:
        raise InvalidInput(
            f"“{ENV}” must be a list of at most {MOST_VARIABLES} variables.",
            'Send names, or {"name", "description", "required"}.',
        )
    return [_variable(item) for item in given]


def _variable(item: JsonValue) -> JsonObject:
    given = item if isinstance(item, Mapping) else {"name": item}
    name, description = given.get("name"), given.get("description", "")
    if not isinstance(name, str) or not re.fullmatch(VARIABLE, name):
        raise InvalidInput(
            f"“{str(name)[:80]}” cannot name a variable.", "Use letters, digits and _."
        )
    return {
        "name": name,
        "description": str(description)[:500],
        "required": given.get("required", True) is not False,
    }
