"""Packages brought into the registry without a sandbox: what an import found is said here."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.types import JsonObject
from registry.importing.rows import locked_package, package_bring
from registry.models import Package, Proposal, Tool
from registry.models.package import Ecosystem
from registry.models.proposal import Cause, ProposalState
from registry.models.tool import ToolKind
from registry.review.deciding import proposal_approve
from registry.review.found import FoundPackage, FoundTool
from tests.factories import TEXT_SCHEMA

NAME = "@acme/shout"


def tool(export: str = "shout", description: str = "Shouts.", **fields: Any) -> FoundTool:
    """Describe a tool as an import finds it."""
    said = {
        "kind": ToolKind.NPM,
        "title": export.title(),
        "description": description,
        "input_schema": TEXT_SCHEMA,
    }
    error = fields.pop("error", None)
    return FoundTool(export=export, values={**said, **fields}, error=error)


@transaction.atomic
def bring(
    user: User | None,
    *tools: FoundTool,
    version: str = "1.0.0",
    name: str = NAME,
    cause: Cause = Cause.IMPORT,
    **values: Any,
) -> list[JsonObject]:
    """Bring in a version of the package, as an import of it would; return the report."""
    package, made = locked_package(ecosystem=Ecosystem.NPM, name=name, defaults={"added_by": user})
    said = {"version": version, "artifact": f"artifact-{version}", "integrity": f"sha512-{version}"}
    found = FoundPackage(values={**said, **values}, tools=tools or [tool()])
    return package_bring(package, found, made=made, user=user, cause=cause)


def statuses(report: list[JsonObject]) -> dict[str, str]:
    """Return export → what the report says was done."""
    return {entry["export"]: entry["status"] for entry in report}


def package() -> Package:
    return Package.objects.get(name=NAME)


def row(export: str = "shout") -> Tool:
    return Tool.objects.get(package__name=NAME, export_name=export)


def waiting() -> Proposal:
    """Return the one open proposal."""
    return Proposal.objects.get(state=ProposalState.OPEN)


def approved(user: User, reviewer: User, *tools: FoundTool, **values: Any) -> Package:
    """Bring in a first version and approve it."""
    bring(user, *tools, **values)
    proposal_approve(waiting(), by=reviewer, reason="Read it.")
    return package()
