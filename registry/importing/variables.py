"""Which variables a package's tools are given: what it declares, and what a person lets it read."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.types import JsonObject
from registry.importing.access import require_may_change
from registry.importing.errors import InvalidVariables
from registry.importing.rows import package_bring
from registry.manifest import ENV_NAME
from registry.models import Package, Tool
from registry.models.package import Ecosystem
from registry.models.proposal import Cause
from registry.models.tool import ExecutionHealth
from registry.review.found import package_with
from registry.review.proposed import found_as_proposed

SUGGESTED = "env"
"""Code of the finding that a package's code reads a variable that it does not declare."""

MOST_VARIABLES = 50
LONGEST_DESCRIPTION = 500


def declared_env(
    manifest_env: Iterable[JsonObject], let_read: Iterable[JsonObject]
) -> list[JsonObject]:
    """Return the variables of a package; what a person decided wins over what it declares."""
    return list({item["name"]: item for item in (*manifest_env, *let_read)}.values())


def suggestions(read: Sequence[str], env: Iterable[JsonObject]) -> list[JsonObject]:
    """Return a finding for each key that the package's files read and nobody declared."""
    known = {item["name"] for item in env}
    return [
        {
            "code": SUGGESTED,
            "path": name,
            "message": f"Its code reads {name}, which it does not declare. It is not given to it "
            "until somebody says so.",
        }
        for name in read
        if name not in known
    ]


def suggested_names(package: Package) -> list[str]:
    """Return the undeclared keys that the package's code reads, or was seen to look for."""
    known = {item["name"] for item in package.env}
    found = [item["path"] for item in package.findings if item["code"] == SUGGESTED]
    errors = Tool.objects.filter(
        package=package, deleted_at=None, execution_health=ExecutionHealth.NEEDS_KEY
    ).values_list("health_error", flat=True)
    seen = [name for error in errors for name in (error or {}).get("extra", {}).get("missing", ())]
    return [name for name in dict.fromkeys([*found, *seen]) if name not in known]


@transaction.atomic
def package_declare_env(
    package: Package, variables: Sequence[JsonObject], *, user: User | None
) -> Package:
    """Let a package's tools read these variables too: `[{name, description?, required?}]`.

    A variable that is declared already is changed. Each tool gets a version that says so. Raises
    PackageNotYours and InvalidVariables. Reading more is reviewed anew: the tools of an approved
    package go on without until then.
    """
    require_may_change(package, user)
    added = _checked(variables)
    package = Package.objects.select_for_update().get(pk=package.pk)
    found = found_as_proposed(package)
    present = package_with(package, found.values)
    env = declared_env(present.env, added)
    if len(env) > MOST_VARIABLES:
        raise InvalidVariables(f"A package may read at most {MOST_VARIABLES} variables.")
    names = {item["name"] for item in added}
    values = {**found.values, "env": env, "findings": _without(present.findings, names)}
    if package.ecosystem != Ecosystem.MCP:  # whose variables stand in `env` alone
        kept = [item for item in present.settings.get("env", ()) if item["name"] not in names]
        values["settings"] = {**present.settings, "env": [*kept, *added]}
    found = replace(found, values=values)
    reason = f"May read {', '.join(sorted(names))}"
    package_bring(package, found, made=False, user=user, cause=Cause.EDIT, reason=reason)
    return package


def _without(findings: Iterable[JsonObject], names: Collection[str]) -> list[JsonObject]:
    """Return the findings but for those that the variables answer."""
    return [item for item in findings if not (item["code"] == SUGGESTED and item["path"] in names)]


def _checked(variables: Sequence[JsonObject]) -> list[JsonObject]:
    if not variables or len(variables) > MOST_VARIABLES:
        raise InvalidVariables(f"Name between 1 and {MOST_VARIABLES} variables.")
    checked = [_variable(item) for item in variables]
    if len({item["name"] for item in checked}) < len(checked):
        raise InvalidVariables("A variable is named twice.")
    return checked


def _variable(item: JsonObject) -> JsonObject:
    name, required = item.get("name"), item.get("required", True)
    description = item.get("description") or ""
    if not isinstance(name, str) or not ENV_NAME.fullmatch(name):
        raise InvalidVariables(f"“{str(name)[:80]}” cannot name a variable.")
    if not isinstance(required, bool) or not isinstance(description, str):
        raise InvalidVariables(f"{name}: “required” must be true or false, the description a text.")
    return {"name": name, "description": description[:LONGEST_DESCRIPTION], "required": required}
