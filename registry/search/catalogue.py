"""Read from the database what the search index knows of each tool."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from config.lib.types import JsonSchema
from registry.models import Tool
from registry.models.health import HealthState
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.search.document import SearchDocument
from registry.search.facts import Facts
from registry.selectors import REFUSED, RUNS, approved

_READ = (
    *("kind", "export_name", "wire_name", "title", "description", "category"),
    *("input_schema", "output_schema", "ai_agent", "required_scopes", "quality"),
    *("owner_id", "team_id", "visibility", "review_status", "deprecated_on"),
    *("import_health", "execution_health", "last_health_check_at"),
    *("package__ecosystem", "package__name", "package__description", "package__downloads"),
    *("package__review_status", "package__added_by_id"),
)


@dataclass(frozen=True)
class Entry:
    """One tool as the index holds it: what is ranked by, and what is filtered by."""

    document: SearchDocument
    facts: Facts


def entries_of(tool_ids: Iterable[UUID]) -> list[Entry]:
    """Return the entries of those among `tool_ids` that can be found."""
    return [entry_of(tool) for tool in findable().filter(pk__in=list(tool_ids))]


def entries_after(last: UUID | None, limit: int) -> list[Entry]:
    """Return the entries of the next tools that can be found, in the order of their ids."""
    tools = findable().order_by("pk")
    if last is not None:
        tools = tools.filter(pk__gt=last)
    return [entry_of(tool) for tool in tools[:limit]]


def findable() -> QuerySet[Tool]:
    """Return the tools that anybody may find.

    What a person made and nobody has approved is found by that person. A package that waits is
    found by nobody, whoever brought it: what strangers say of it reaches no model by itself.
    """
    tools = Tool.objects.filter(RUNS, deleted_at=None).exclude(REFUSED)
    tools = tools.filter(approved() | Q(owner__isnull=False))
    return tools.select_related("package").only(*_READ)


def entry_of(tool: Tool) -> Entry:
    """Return what the index keeps of one tool."""
    document = document_of(tool)
    return Entry(document, facts_of(tool, document.text))


def facts_of(tool: Tool, text: int = 0) -> Facts:
    """Return what a tool is filtered by; `text` is the digest of its words."""
    package = tool.package
    status = ReviewStatus.APPROVED
    is_approved = tool.review_status == status and (not package or package.review_status == status)
    state = tool.health_state
    down_at = tool.last_health_check_at if state == HealthState.UPSTREAM_DOWN else None
    return Facts(
        is_open=tool.visibility == Visibility.PUBLIC and is_approved,
        owner=tool.owner_id or 0,
        adder=(package.added_by_id or 0) if package else 0,
        team=(tool.team_id or 0) if tool.visibility == Visibility.TEAM else 0,
        kind=tool.kind,
        category=tool.category,
        package=package.name if package else "",
        state=state.value,
        scopes=tuple(tool.required_scopes),
        retired_on=tool.deprecated_on,
        down_at=down_at.timestamp() if down_at else 0.0,
        text=text,
    )


def document_of(tool: Tool) -> SearchDocument:
    """Return what the index keeps of one tool."""
    package = tool.package
    guidance = tool.ai_agent or {}
    return SearchDocument(
        id=str(tool.pk),
        name=tool.export_name or tool.wire_name,
        wire_name=tool.wire_name,
        title=tool.title,
        description=tool.description,
        category=tool.category,
        package=package.name if package and package.ecosystem != "builtin" else "",
        package_description=package.description if package else "",
        parameters=tuple(_properties(tool.input_schema)),
        parameter_descriptions=tuple(_descriptions(tool.input_schema)),
        returns=_returns(tool.output_schema or {}),
        use_case=_text(guidance, "useCase"),
        limitations=_text(guidance, "limitations"),
        examples=tuple(_examples(guidance)),
        quality=float(tool.quality),
        health=float(tool.health_state == HealthState.HEALTHY),
        downloads=(package.downloads or 0) if package else 0,
    )


def _properties(schema: JsonSchema) -> JsonSchema:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _descriptions(schema: JsonSchema) -> Iterator[str]:
    items = _properties(schema).values()
    yield from (_text(item, "description") for item in items if isinstance(item, dict))


def _returns(schema: JsonSchema) -> str:
    """Return what a tool says that it answers with: its own words and the names of its fields."""
    return " ".join([_text(schema, "description"), *_properties(schema), *_descriptions(schema)])


def _examples(guidance: JsonSchema) -> Iterator[str]:
    examples = guidance.get("examples")
    if isinstance(examples, list):
        yield from (example for example in examples if isinstance(example, str))


def _text(values: JsonSchema, name: str) -> str:
    text = values.get(name)
    return text if isinstance(text, str) else ""
