"""A sequence as it stands in the builder: text in fields, however unfinished.

`draft_from_post` and the templates agree on the names of the fields: `steps-0-tool`,
`steps-0-in-2-value`, `final-1-source` and so on.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from config.lib.jsontext import clean_text
from config.lib.types import JsonObject, JsonValue
from registry.models import Tool
from registry.models.tool import Visibility
from registry.schema_forms import FormField
from sequences.forms.static_values import text_from_static
from sequences.forms.step_tools import StepTool, tool_at

STARTER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What the sequence works on."}},
    "required": ["text"],
}

_ROW = re.compile(r"^(?:steps-(\d{1,3})-in|final)-(\d{1,3})-name$")
_STEP = re.compile(r"^steps-(\d{1,3})-tool$")


@dataclass
class Row:
    """One input of a step or of the output: where its value comes from.

    `source` is a source of the definition, or empty: left out. `value` is the key, the text, the
    template or the name of the earlier step, as the source has it. `known` is not empty for a row
    that the schema of the step's tool brought.
    """

    name: str = ""
    source: str = ""
    value: str = ""
    path: str = ""
    known: str = ""

    @property
    def is_untouched(self) -> bool:
        """Tell whether the row holds nothing but what the builder put there."""
        offered = self.source == "initialInput" and self.value == self.name
        return bool(self.known) and (offered or not self.value.strip())


@dataclass
class StepDraft:
    """One step; `tool` is the wire name that was typed or chosen."""

    tool: str = ""
    version: str = ""
    rows: list[Row] = field(default_factory=list)
    success: str = ""
    failure: str = ""
    continue_on_failure: bool = False
    store_as: str = ""
    timeout: str = ""
    attempts: str = ""
    backoff: str = ""


@dataclass
class Draft:
    """The whole form; `team` is the id of a team as text, `schema` is JSON as typed."""

    name: str = ""
    description: str = ""
    visibility: str = Visibility.PRIVATE
    team: str = ""
    scopes: str = ""
    schema: str = ""
    reason: str = ""
    steps: list[StepDraft] = field(default_factory=list)
    final: list[Row] = field(default_factory=list)


def new_draft() -> Draft:
    """Return the draft that a new sequence starts from: a valid schema and one empty step."""
    return Draft(schema=_pretty(STARTER_SCHEMA), steps=[StepDraft()])


def draft_from_post(data: Mapping[str, str]) -> Draft:
    """Return what the form holds, its steps and rows in the order of their numbers."""

    def text(name: str) -> str:
        return clean_text(data.get(name, "")).replace("\r\n", "\n")

    def rows(prefix: str) -> list[Row]:
        numbers = sorted(
            int(match[2])
            for key in data
            if key.startswith(f"{prefix}-") and (match := _ROW.match(key))
        )
        return [
            Row(**{part: text(f"{prefix}-{number}-{part}") for part in _ROW_PARTS})
            for number in numbers
        ]

    numbers = sorted(int(match[1]) for key in data if (match := _STEP.match(key)))
    return Draft(
        **{part: text(part) for part in _DRAFT_PARTS},
        steps=[
            StepDraft(
                **{part: text(f"steps-{number}-{part}") for part in _STEP_PARTS},
                continue_on_failure=bool(text(f"steps-{number}-continue")),
                rows=rows(f"steps-{number}-in"),
            )
            for number in numbers
        ],
        final=rows("final"),
    )


def draft_from_tool(tool: Tool, chosen: Mapping[str, StepTool]) -> Draft:
    """Return a saved sequence as a draft; `chosen` are the tools of its steps, by id."""
    definition = tool.definition or {}
    return Draft(
        name=tool.title,
        description=tool.description,
        visibility=tool.visibility,
        team=str(tool.team_id or ""),
        scopes=" ".join(tool.required_scopes),
        schema=_pretty(tool.input_schema),
        steps=[
            _step_draft(step, tool_at(chosen, step["toolToRunId"], _text(step.get("toolVersion"))))
            for step in definition.get("steps", ())
        ],
        final=_rows((definition.get("finalOutputMapping") or {}).items(), {}),
    )


_ROW_PARTS = ("name", "source", "value", "path", "known")
_STEP_PARTS = (
    *("tool", "version", "success", "failure", "store_as"),
    *("timeout", "attempts", "backoff"),
)
_DRAFT_PARTS = (*("name", "description", "visibility", "team", "scopes", "schema", "reason"),)


def _step_draft(step: JsonObject, tool: StepTool | None) -> StepDraft:
    retry = step.get("retry") or {}
    return StepDraft(
        tool=tool.name if tool else step["toolToRunId"],
        version=_text(step.get("toolVersion")),
        rows=_rows(step.get("inputMapping", {}).items(), tool.fields if tool else {}),
        success=step.get("outputDisplaySuccess", ""),
        failure=step.get("outputDisplayFailure", ""),
        continue_on_failure=step.get("continueOnFailure", False),
        store_as=step.get("storeOutputAs") or "",
        timeout=_text(step.get("timeoutSeconds")),
        attempts=_text(retry.get("attempts")),
        backoff=_text(retry.get("backoffSeconds")),
    )


def _rows(mapping: Iterable[tuple[str, JsonObject]], fields: Mapping[str, FormField]) -> list[Row]:
    return [_row(name, source, fields.get(name)) for name, source in mapping]


def _row(name: str, source: JsonObject, field: FormField | None) -> Row:
    match source["source"]:
        case "initialInput":
            value = source.get("key") or ""
        case "previousStep":
            value = source["step"]
        case "static":
            value = text_from_static(source["value"], field)
        case _:
            value = source["value"]
    return Row(name=name, source=source["source"], value=value, path=source.get("path", ""))


def _text(value: JsonValue) -> str:
    return "" if value is None else f"{value:g}"


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
