"""The shape of an agent in a file: what it is, which tools it carries, what its rules say."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from config.lib.documents import DocumentPart, Short, Text, is_deep, problems_of
from config.lib.errors import InvalidInput
from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue

FORMAT = "outfitter-agent"
VERSION = 1
LARGEST = 1_000_000
"""Characters of JSON that are read."""

DEEPEST = 40
"""How deep its objects and lists may stand in one another."""


class DocumentRefused(InvalidInput):
    """This is not an agent that can be read."""

    code = "bad_agent_document"
    default_hint = "Send what “Export” of an agent gave you."


class PackageNamed(DocumentPart):
    """The package of a tool, by its registry and name."""

    ecosystem: Short
    name: Short


class ToolCarried(DocumentPart):
    """One tool by what it is everywhere, and what the agent says of it.

    `tool` is its name in its package, or its wire name where it has none. `version` is the number
    of a pinned version and `digest` what that version was; `left_out` names presets that looked
    like secrets.
    """

    package: PackageNamed | None = None
    tool: Short
    version: int | None = None
    digest: Short = ""
    approval: Short = "rules"
    name: Short = ""
    description: Text = ""
    config: dict[str, Any] = Field(default_factory=dict)
    left_out: list[Short] = Field(default_factory=list, max_length=200)


class RuleSaid(DocumentPart):
    """One approval rule."""

    pattern: Annotated[str, Field(max_length=1_000)]
    effect: Short


class SettingsSaid(DocumentPart):
    """An agent's own fields; who owns it and who shares it is not among them."""

    name: Short
    description: Text = ""
    instructions: Text = ""
    model: Short = ""
    discovery_mode: Short | None = None
    max_found_tools: int | None = None
    schema_budget: int | None = None
    max_steps: int | None = None
    approval_default: Short | None = None
    fallback_models: list[Short] = Field(default_factory=list, max_length=50)
    tool_protocol: Short | None = None
    mcp_tools: Short | None = None
    code_execution: bool = False
    scopes: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list, max_length=200
    )


class AgentDocument(DocumentPart):
    """All of an agent but its conversations and credentials."""

    format: Literal["outfitter-agent"] = "outfitter-agent"
    version: Literal[1] = 1
    settings: SettingsSaid
    tools: list[ToolCarried] = Field(default_factory=list, max_length=200)
    rules: list[RuleSaid] = Field(default_factory=list, max_length=100)

    def as_json(self) -> JsonObject:
        """Return the document as it is written."""
        return self.model_dump(by_alias=True)


def read_document(value: JsonValue) -> AgentDocument:
    """Return the agent that JSON describes; raise DocumentRefused with what is wrong where."""
    if not isinstance(value, dict):
        raise DocumentRefused("An agent is a JSON object.")
    if is_deep(value, DEEPEST):
        raise DocumentRefused(f"It is nested more than {DEEPEST} deep.")
    if value.get("format") != FORMAT:
        raise DocumentRefused(f"Its “format” is not “{FORMAT}”.")
    if value.get("version") != VERSION:
        raise DocumentRefused(
            f"Its “version” is {str(value.get('version'))[:20]}; this Outfitter reads {VERSION}.",
            "Export it again, or upgrade Outfitter.",
        )
    try:
        return AgentDocument.model_validate(storable(value))
    except ValidationError as error:
        told, problems = problems_of(error)
        raise DocumentRefused(told, problems=problems) from None
