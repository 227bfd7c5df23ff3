"""Which keys a call lacks: for one person, and for a tool whose package never declared them."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from config.lib.types import JsonObject
from registry.api_definition import variables_of
from registry.errors import ImportBroken, MissingCredential, ToolError, ToolFailed
from registry.models import Package, Tool
from registry.models.tool import ToolKind
from registry.specs import ToolSpec

GUEST_SAW = "missing_env"
"""Key of an error's `extra`: the keys that the tool's code looked for and did not find."""


def required_by(env: Iterable[JsonObject]) -> tuple[str, ...]:
    """Return the names of the variables without which a package's tools are not called."""
    return tuple(item["name"] for item in env if item.get("required", True))


def tell_needs(tools: Sequence[Tool], user: User) -> None:
    """Set `needs` of each tool: the required variables that the person has not set.

    It is true of this person alone, so it is never stored.
    """
    required = {tool.pk: _required_by_tool(tool) for tool in tools if tool.package}
    held = _held(user, {name for names in required.values() for name in names})
    for tool in tools:
        tool.needs = tuple(name for name in required.get(tool.pk, ()) if name not in held)


def _required_by_tool(tool: Tool) -> tuple[str, ...]:
    """Return what a tool needs: an HTTP tool only what its own sign-in reads."""
    if tool.kind != ToolKind.API:
        return required_by(tool.package.env if tool.package else ())
    definition = tool.definition or {}
    return () if definition.get("signInOptional") else tuple(variables_of(definition))


def packages_lacking_keys(user: User) -> list[UUID]:
    """Return the packages whose tools this person cannot call for want of a key."""
    declared = Package.objects.exclude(env=[]).values_list("pk", "env")
    required = {pk: set(required_by(env)) for pk, env in declared}
    held = _held(user, set().union(*required.values()))
    return [pk for pk, names in required.items() if names - held]


def naming_keys(error: ToolError, spec: ToolSpec) -> ToolError:
    """Return the error that names the keys which the tool's code looked for in vain.

    Its package did not declare them, so nobody can give them to it yet. A variable that is
    declared as optional is only told.
    """
    seen: list[str] = error.extra.pop(GUEST_SAW, [])
    if not seen or not isinstance(error, ToolFailed | ImportBroken):
        return error
    declared = {variable.name for variable in spec.env}
    undeclared = [name for name in seen if name not in declared]
    if not undeclared:
        optional = f"{' and '.join(seen)} is optional and not set."
        error.hint = f"{error.hint} {optional}".strip()
        return error
    names = ", ".join(undeclared)
    return MissingCredential(
        f"{spec.wire_name} looks for {names}, which its package does not declare. "
        f"It said: {error.message}",
        f"Whoever added the package, or a reviewer, lets it read {names} on the package's page; "
        "then add the variable under Credentials.",
        missing=undeclared,
        undeclared=undeclared,
    )


def _held(user: User, names: set[str]) -> set[str]:
    """Return those of the variables that the person has set."""
    if not names:
        return set()
    values = import_string(settings.TOOL_CREDENTIALS)(user, None)(sorted(names))
    return {name for name, value in values.items() if value}
