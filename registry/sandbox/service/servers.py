"""How the MCP server in a package is started: which of its commands, with what."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from registry.sandbox.service import javascript, python
from registry.sandbox.service.builder import RECORD
from registry.sandbox.service.calls import Package
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.profile import Profile
from registry.sandbox.service.python_commands import python_commands
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.uv import SITE

MAX_ARGUMENTS = 64
MAX_ARGUMENT_CHARACTERS = 4096


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """What to start: a command of the package (empty: its only one), and what it is given."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    network: tuple[str, ...] = ()


def profile_of(runtime: Runtime, package: Package, request: ServerRequest) -> Profile:
    """Return the profile that runs the package's server; raises `ServiceError`."""
    _check_arguments(request.arguments)
    started = PROFILES.get(package.language)
    if started is None:
        message = f"MCP servers in {package.language} cannot be run here."
        raise ServiceError("invalid_package", message, "Choose one that is an npm package.")
    return started(runtime, package, request)


def _npm_profile(runtime: Runtime, package: Package, request: ServerRequest) -> Profile:
    commands = npm_commands(package)
    script = commands[chosen(package, commands, request.command)]
    return javascript.server(
        runtime,
        package.folder,
        script=f"/pkg/node_modules/{package.name}/{script}",
        arguments=request.arguments,
        network=request.network,
    )


def _python_profile(runtime: Runtime, package: Package, request: ServerRequest) -> Profile:
    commands = python_commands(package.folder / "pkg" / SITE, package.name)
    command = chosen(package, commands, request.command)
    return python.server(
        runtime,
        package.folder,
        command=command,
        place=commands[command],
        arguments=request.arguments,
        network=request.network,
    )


def npm_commands(package: Package) -> dict[str, str]:
    """Return the package's commands by name: the script of each, relative to the package."""
    record = json.loads((package.folder / RECORD).read_text(encoding="utf-8"))
    bins = record["manifest"].get("bin")
    if isinstance(bins, str):
        bins = {package.name.rpartition("/")[2]: bins}
    if not isinstance(bins, dict):
        return {}
    return {name: script for name, script in bins.items() if _is_inside(script)}


def chosen(package: Package, commands: dict[str, str], wanted: str) -> str:
    """Return the name of the command to run; as npx does, one named like the package is meant."""
    own = package.name.rpartition("/")[2]
    only = next(iter(commands)) if len(commands) == 1 else own
    if (name := wanted or only) in commands:
        return name
    known = ", ".join(sorted(commands)) or "none"
    message = f"{package.name} has no command “{wanted or own}”; its commands: {known}."
    hint = "Name one of its commands." if commands else "Choose a package that is an MCP server."
    raise ServiceError("unknown_export", message, hint)


def _is_inside(script: Any) -> bool:
    if not isinstance(script, str) or not script or "\0" in script:
        return False
    path = PurePosixPath(script)
    return not path.is_absolute() and ".." not in path.parts


def _check_arguments(arguments: tuple[str, ...]) -> None:
    if len(arguments) > MAX_ARGUMENTS:
        message = f"At most {MAX_ARGUMENTS} arguments can be given."
        raise ServiceError("invalid_request", message)
    for argument in arguments:
        if "\0" in argument or len(argument) > MAX_ARGUMENT_CHARACTERS:
            raise ServiceError("invalid_request", "An argument is too long or has a NUL in it.")


PROFILES: Mapping[str, Callable[[Runtime, Package, ServerRequest], Profile]] = {
    "javascript": _npm_profile,
    "python": _python_profile,
}
"""Language → what starts its servers."""
