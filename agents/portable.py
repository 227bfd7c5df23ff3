"""Copy agents: write one to a document, make one from a document, clone one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agents import services
from agents.approval_rules import rule_set, rules_of
from agents.documents import (
    AgentDocument,
    PackageNamed,
    RuleSaid,
    SettingsSaid,
    ToolCarried,
)
from agents.link_settings import LinkSettings, link_saved
from agents.models import Agent, AgentTool
from agents.selectors import links_of
from config.lib.errors import DomainError
from config.lib.secret_names import names_a_secret
from config.lib.types import JsonObject, JsonValue
from registry.models import Tool, ToolVersion
from registry.selectors import tools_usable_by

COPIED = tuple(SettingsSaid.model_fields)


@dataclass(frozen=True, kw_only=True)
class Copied:
    """An agent that was made from a document; `notes` tell what of it could not be."""

    agent: Agent
    tools: list[str]
    rules: int
    notes: list[str]


def agent_written(agent: Agent, *, with_secrets: bool = False) -> AgentDocument:
    """Return an agent as a document, without credentials, and without presets named like them."""
    links = list(links_of(agent))
    return AgentDocument(
        settings=SettingsSaid(**{name: getattr(agent, name) for name in COPIED}),
        tools=[_carried(link, with_secrets=with_secrets) for link in links],
        rules=[RuleSaid(pattern=rule.pattern, effect=rule.effect) for rule in rules_of(agent)],
    )


@transaction.atomic
def agent_read(owner: User, document: AgentDocument) -> Copied:
    """Make an agent of what a document says, as far as its owner may use it.

    What cannot be had is told in the notes. Raises InvalidInput where its own fields are wrong.
    """
    said = document.settings.model_dump(exclude_none=True)
    agent = services.agent_create(owner, **said)
    notes: list[str] = []
    tools: list[str] = []
    for carried in document.tools:
        tool = _found(owner, carried)
        if tool is None:
            notes.append(f"{_told(carried)} is not here, or you may not use it.")
            continue
        try:
            with transaction.atomic():
                link = services.tool_link(agent, tool.pk, approval=carried.approval)
        except DomainError as error:
            notes.append(f"{_told(carried)} is left out: {error.message}")
            continue
        notes += [f"{tool.wire_name}: {note}" for note in _settled(link, carried)]
        tools.append(link.name_override or tool.wire_name)
    rules = 0
    for rule in document.rules:
        try:
            rule_set(agent, rule.pattern, rule.effect)
            rules += 1
        except DomainError as error:
            notes.append(f"The rule for “{rule.pattern[:60]}” is left out: {error.message}")
    return Copied(agent=agent, tools=tools, rules=rules, notes=notes)


def agent_preview(owner: User, document: AgentDocument) -> Copied:
    """Return what `agent_read` would make; nothing of it is kept."""
    with transaction.atomic():
        copied = agent_read(owner, document)
        transaction.set_rollback(True)
    return copied


def agent_clone(agent: Agent, owner: User, name: str = "") -> Copied:
    """Make somebody an agent of their own like one they see: never with anybody's credentials.

    Presets that are named like secrets go only into the copy that its owner makes.
    """
    document = agent_written(agent, with_secrets=agent.owner_id == owner.pk)
    document.settings.name = name.strip() or f"Copy of {agent.name}"[:80]
    return agent_read(owner, document)


def _carried(link: AgentTool, *, with_secrets: bool) -> ToolCarried:
    tool, package = link.tool, link.tool.package
    left_out: list[str] = []
    config = link.config if with_secrets else _without_secrets(link.config, left_out)
    version = ToolVersion.objects.filter(tool=tool, number=link.pinned_version or 0).first()
    return ToolCarried(
        package=PackageNamed(ecosystem=package.ecosystem, name=package.name) if package else None,
        tool=tool.export_name if package else tool.wire_name,
        version=link.pinned_version,
        digest=version.digest if version else "",
        approval=link.approval,
        name=link.name_override,
        description=link.description_override,
        config=config,
        left_out=left_out,
    )


def _without_secrets(value: Any, left_out: list[str]) -> Any:
    """Return presets without what is named like a secret, at any depth; name that in `left_out`."""
    if isinstance(value, list):
        return [_without_secrets(each, left_out) for each in value]
    if not isinstance(value, dict):
        return value
    left_out += [name for name in value if names_a_secret(name)]
    return {
        name: _without_secrets(each, left_out)
        for name, each in value.items()
        if not names_a_secret(name)
    }


def _found(owner: User, carried: ToolCarried) -> Tool | None:
    tools = tools_usable_by(owner)
    if carried.package is None:
        tools = tools.filter(package=None, wire_name=carried.tool)
    else:
        tools = tools.filter(
            package__ecosystem=carried.package.ecosystem,
            package__name=carried.package.name,
            export_name=carried.tool,
        )
    return tools.order_by("wire_name", "pk").first()


def _told(carried: ToolCarried) -> str:
    package = carried.package
    return f"{package.ecosystem}:{package.name}/{carried.tool}" if package else carried.tool


def _settled(link: AgentTool, carried: ToolCarried) -> Iterator[str]:
    """Set on a link what the document says, one by one; yield what cannot be set, and why."""
    settings: list[LinkSettings] = []
    if carried.version is not None:
        number = _version(link.tool, carried)
        if number is None:
            yield f"version {carried.version} is not here, so it follows the live version."
        else:
            settings.append({"pinned_version": number})
    if carried.config:
        settings.append({"config": carried.config})
    if carried.name:
        settings.append({"name": carried.name})
    if carried.description:
        settings.append({"description": carried.description})
    for setting in settings:
        try:
            with transaction.atomic():
                link_saved(link, setting)
        except DomainError as error:
            link.refresh_from_db()
            yield f"its {', '.join(setting)} is left out: {error.message}"
    if carried.left_out:
        yield f"its presets {', '.join(carried.left_out)} were not exported; set them anew."


def _version(tool: Tool, carried: ToolCarried) -> int | None:
    """Return the number under which a pinned version is known here: the same content, if told."""
    versions = ToolVersion.objects.filter(tool=tool)
    named = {"digest": carried.digest} if carried.digest else {"number": carried.version}
    return versions.filter(**named).order_by("-number").values_list("number", flat=True).first()


def copied_as_json(copied: Copied) -> JsonObject:
    """Return what was made, or would be, without the agent itself."""
    notes: list[JsonValue] = list(copied.notes)
    return {"tools": list(copied.tools), "rules": copied.rules, "notes": notes}
