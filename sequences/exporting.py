"""Write a sequence as a document."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from django.contrib.auth.models import User

from agents.documents import PackageNamed
from config.lib.ids import uuid_in
from config.lib.secret_names import names_a_secret
from config.lib.types import JsonObject
from registry.models import Tool, ToolVersion
from registry.models.tool import ToolKind
from registry.selectors import tools_usable_by
from sequences.definition import Definition, DefinitionInvalid, parse
from sequences.documents import HIDDEN, SequenceDocument, ToolNamed
from sequences.nesting import MAX_DEPTH


def sequence_written(tool: Tool, *, reader: User) -> SequenceDocument:
    """Return a sequence as a document, with the sequences it calls in it as far as `reader` may
    use them, and without fixed values whose inputs are named like secrets."""
    return _written(tool, reader, depth=1)


def _written(tool: Tool, reader: User, *, depth: int) -> SequenceDocument:
    definition: JsonObject = deepcopy(tool.definition or {"format": 1, "steps": []})
    left_out = list(_secrets_dropped(definition))
    try:
        parsed = parse(definition)
    except DefinitionInvalid:
        parsed = None
    tools = _named(definition, parsed, reader, depth) if parsed else []
    return SequenceDocument(
        name=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        definition=definition,
        tools=tools,
        required_scopes=list(tool.required_scopes),
        left_out=left_out,
    )


def _named(definition: JsonObject, parsed: Definition, reader: User, depth: int) -> list[ToolNamed]:
    """Return the tools of a definition, and name them in its steps by their wire names."""
    ids = {step.tool for step in parsed.steps if uuid_in(step.tool)}
    usable = {str(tool.pk): tool for tool in tools_usable_by(reader).filter(pk__in=ids)}
    pins: dict[str, dict[str, str]] = {}
    for step in parsed.steps:
        if step.tool_version and step.tool in usable:
            pins.setdefault(step.tool, {})[str(step.tool_version)] = ""
    for version in ToolVersion.objects.filter(tool_id__in=pins):
        known = pins[str(version.tool_id)]
        known |= {n: version.digest for n in known if n == str(version.number)}
    named: dict[str, ToolNamed] = {}
    for step in definition["steps"]:
        tool_id = step.get("toolToRunId")
        if not tool_id:
            continue
        tool = usable.get(tool_id)
        if tool_id not in named:
            named[tool_id] = (
                _tool_named(tool, pins.get(tool_id, {}), reader, depth)
                if tool
                else ToolNamed(id=f"tool_{len(named) + 1}", wire_name=HIDDEN)
            )
        step["toolToRunId"] = named[tool_id].id
    return list(named.values())


def _tool_named(tool: Tool, versions: dict[str, str], reader: User, depth: int) -> ToolNamed:
    package = tool.package
    goes_along = tool.kind == ToolKind.SEQUENCE and depth < MAX_DEPTH
    return ToolNamed(
        id=tool.wire_name,
        wire_name=tool.wire_name,
        kind=tool.kind,
        title=tool.title[:300],
        package=PackageNamed(ecosystem=package.ecosystem, name=package.name) if package else None,
        export=tool.export_name if package else "",
        versions=versions,
        document=_written(tool, reader, depth=depth + 1) if goes_along else None,
    )


def _secrets_dropped(definition: JsonObject) -> Iterator[str]:
    """Take out fixed values whose inputs are named like secrets; yield where they stood."""
    for number, step in enumerate(definition["steps"], 1):
        mapping: dict[str, Any] = step.get("inputMapping") or {}
        for name, source in list(mapping.items()):
            if source.get("source") != "static":
                continue
            if names_a_secret(name):
                del mapping[name]
                yield f"“{name}” of step {number}"
            elif inner := _without_secrets(source.get("value")):
                yield from (f"“{name}.{part}” of step {number}" for part in inner)


def _without_secrets(value: Any) -> list[str]:
    """Take what is named like a secret out of a value, at any depth; return the names."""
    if isinstance(value, list):
        return [name for each in value for name in _without_secrets(each)]
    if not isinstance(value, dict):
        return []
    dropped = [name for name in value if names_a_secret(name)]
    for name in dropped:
        del value[name]
    return dropped + [name for each in value.values() for name in _without_secrets(each)]
