"""A sequence as it stands in the builder: text in fields, however unfinished.

A draft is what `SequenceDraft.document` and each of its revisions hold, as JSON; nothing in it has
to be valid. `sequences.forms.posted` reads one from a form, `sequences.forms.saved` from a tool.
"""

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from config.lib.types import JsonObject, JsonValue
from registry.models.tool import Visibility

STARTER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What the sequence works on."}},
    "required": ["text"],
}

TOOL, APPROVAL = "tool", "approval"
BESIDE, SAME_BRANCH = "beside", "same"


@dataclass
class Row:
    """One input of a step or of the output: where its value comes from.

    `source` is a source of the definition, or empty: left out. `value` is the key, the text, the
    template, the expression or the name of the earlier step, as the source has it. `known` is not
    empty for a row that the schema of the step's tool brought.
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
    """One step; `tool` is the wire name that was typed or chosen.

    `key` is its stable id, `kind` is `tool` or `approval`. Numbers are text as typed.
    """

    key: str = ""
    kind: str = TOOL
    tool: str = ""
    version: str = ""
    title: str = ""
    rows: list[Row] = field(default_factory=list)
    when: str = ""
    """The condition, in CEL."""
    each: Row = field(default_factory=Row)
    """The list that the step is repeated for; without a source it runs once."""
    parallel: str = ""
    max_items: str = ""
    beside: str = ""
    """`beside`: a branch of its own beside the step above; `same`: goes on in the branch of the
    step above; empty: after everything above."""
    group: str = ""
    branch: str = ""
    """The names that the definition had for them, kept so that saving changes nothing."""
    success: str = ""
    failure: str = ""
    continue_on_failure: bool = False
    fallback: str = ""
    """JSON, or a text; empty: none."""
    store_as: str = ""
    timeout: str = ""
    attempts: str = ""
    backoff: str = ""
    factor: str = ""
    repeatable: bool = False
    disabled: bool = False
    collapsed: bool = False
    ask_title: str = ""
    ask_message: str = ""
    ask_schema: str = ""
    """The form of an approval as a JSON Schema; empty: none."""
    ask_rejected: str = ""
    """`fail` or `continue`; empty: fail."""
    ask_expires: str = ""
    """Seconds until the question lapses; empty: never."""


@dataclass
class Draft:
    """The whole form; `team` is the id of a team as text, `schema` is JSON as typed."""

    name: str = ""
    description: str = ""
    visibility: str = Visibility.PRIVATE
    team: str = ""
    scopes: str = ""
    schema: str = ""
    max_runs: str = ""
    reason: str = ""
    steps: list[StepDraft] = field(default_factory=list)
    final: list[Row] = field(default_factory=list)


def new_draft() -> Draft:
    """Return the draft that a new sequence starts from: a valid schema and one empty step."""
    return Draft(schema=pretty(STARTER_SCHEMA), steps=[StepDraft(key=new_key())])


def new_key() -> str:
    """Return the stable id of a new step."""
    return f"s_{secrets.token_hex(4)}"


def with_keys(steps: Iterable[StepDraft]) -> list[StepDraft]:
    """Give each step that has no key of its own one: the first with a key keeps it."""
    seen: set[str] = set()
    listed = list(steps)
    for step in listed:
        if not step.key or step.key in seen:
            step.key = new_key()
        seen.add(step.key)
    return listed


def draft_to_json(draft: Draft) -> JsonObject:
    """Return the draft as JSON; `draft_from_json` gives it back."""
    return asdict(draft)


def draft_from_json(document: JsonValue) -> Draft:
    """Return the draft that a document holds.

    What it lacks counts as empty and what is not known any more is left out, so that drafts
    outlive a change of the form.
    """
    if not isinstance(document, dict):
        return new_draft()
    return Draft(
        **_plain(Draft, document),
        steps=with_keys(
            StepDraft(**_plain(StepDraft, step), rows=_rows(step, "rows"), each=_row(step, "each"))
            for step in _objects(document.get("steps"))
        ),
        final=_rows(document, "final"),
    )


def pretty(value: JsonValue) -> str:
    """Return JSON as the form shows it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _rows(document: JsonObject, name: str) -> list[Row]:
    return [Row(**_plain(Row, row)) for row in _objects(document.get(name))]


def _row(document: JsonObject, name: str) -> Row:
    row = document.get(name)
    return Row(**_plain(Row, row)) if isinstance(row, dict) else Row()


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _plain(kind: type[Row | StepDraft | Draft], document: JsonObject) -> dict[str, Any]:
    """Return the texts and flags of a document that the dataclass has, of the right type."""
    return {
        part.name: document[part.name]
        for part in fields(kind)
        if part.type in (str, bool) and type(document.get(part.name)) is part.type
    }
