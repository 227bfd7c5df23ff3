"""Read from the database what the search index knows of each tool."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from django.db.models import Q, QuerySet

from config.lib.types import JsonSchema
from registry.models import Tool
from registry.models.health import HealthState
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.search.document import SearchDocument
from registry.selectors import approved


def searchable(tool_ids: Iterable[UUID]) -> list[SearchDocument]:
    """Return the documents of those among `tool_ids` that can be found."""
    return [document_of(tool) for tool in _findable().filter(pk__in=list(tool_ids))]


def searchable_after(last: UUID | None, limit: int) -> list[SearchDocument]:
    """Return the documents of the next tools that can be found, in the order of their ids."""
    tools = _findable().order_by("pk")
    if last is not None:
        tools = tools.filter(pk__gt=last)
    return [document_of(tool) for tool in tools[:limit]]


def _findable() -> QuerySet[Tool]:
    """Return the living tools but for those that nobody may find.

    What a person made and nobody has approved is found by that person. A package that waits is
    found by nobody, whoever brought it: what strangers say of it reaches no model by itself.
    """
    tools = Tool.objects.filter(deleted_at=None).select_related("package")
    return tools.filter(approved() | Q(owner__isnull=False))


def _only_for(tool: Tool) -> frozenset[int]:
    """Return who owns a tool that is for nobody else; empty where it is for others as well."""
    package = tool.package
    status = ReviewStatus.APPROVED
    is_approved = tool.review_status == status and (not package or package.review_status == status)
    if tool.visibility == Visibility.TEAM or (tool.visibility == Visibility.PUBLIC and is_approved):
        return frozenset()
    return frozenset(() if tool.owner_id is None else (tool.owner_id,))


def document_of(tool: Tool) -> SearchDocument:
    """Return what the index keeps of one tool."""
    package = tool.package
    guidance = tool.ai_agent or {}
    return SearchDocument(
        id=str(tool.pk),
        name=tool.export_name or tool.wire_name,
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
        only_for=_only_for(tool),
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
