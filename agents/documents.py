"""The shape of an agent in a file: what it is, which tools it carries, what its rules say."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from config.lib.errors import InvalidInput
from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue

FORMAT = "outfitter-agent"
VERSION = 1
LARGEST = 1_000_000
"""Characters of JSON that are read."""

DEEPEST = 40
"""How deep its objects and lists may stand in one another."""

Text = Annotated[str, Field(max_length=20_000)]
Short = Annotated[str, Field(max_length=300)]


class DocumentRefused(InvalidInput):
    """This is not an agent that can be read."""

    code = "bad_agent_document"
    default_hint = "Send what “Export” of an agent gave you."


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True
    )


class PackageNamed(_Part):
    """The package of a tool, by its registry and name."""

    ecosystem: Short
    name: Short


class ToolCarried(_Part):
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


class RuleSaid(_Part):
    """One approval rule."""

    pattern: Annotated[str, Field(max_length=1_000)]
    effect: Short


class SettingsSaid(_Part):
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
    code_execution: bool = False
    scopes: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list, max_length=200
    )


class AgentDocument(_Part):
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
    if _is_deep(value):
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
        problems = [
            {
                "path": ".".join(["$", *map(str, problem["loc"])])[:200],
                "message": f"{problem['msg']}.",
            }
            for problem in error.errors(include_url=False, include_input=False)[:20]
        ]
        told = "; ".join(f"{each['path']}: {each['message']}" for each in problems[:3])
        raise DocumentRefused(told, problems=problems) from None


def _is_deep(value: JsonValue) -> bool:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
