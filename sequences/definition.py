"""The shape of a sequence: steps that call tools, and where each input comes from (format 1).

`parse` is the only way in. It reports everything that is wrong at once, each problem with its
place, so that the builder can show it beside the step it belongs to.
"""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue
from sequences.ordering import MAX_STEPS, order_problems, unstorable
from sequences.problems import IDENTIFIER, Problem, problem_at
from sequences.refusals import refused

__all__ = [
    "IDENTIFIER",
    "MAX_STEPS",
    "Definition",
    "DefinitionInvalid",
    "InputSource",
    "Problem",
    "Step",
    "json_schema",
    "parse",
    "problem_at",
    "to_json",
]


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class InitialInput(_Part):
    """A value of the sequence's own input; without a key the whole input."""

    source: Literal["initialInput"]
    key: str | None = None


class StaticValue(_Part):
    """A fixed JSON value."""

    source: Literal["static"]
    value: Any


class PreviousStep(_Part):
    """A value of an earlier step's output: `path` is a JMESPath expression, empty for all of it."""

    source: Literal["previousStep"]
    step: str = Field(min_length=1)
    path: str = ""


class Template(_Part):
    """A text with `{{ JMESPath }}` expressions over `initial` and `steps`."""

    source: Literal["template"]
    value: str


class Expression(_Part):
    """Whatever a JMESPath expression over `initial`, `steps` and `item` gives, of any type."""

    source: Literal["expression"]
    value: str


class LoopItem(_Part):
    """The item that an iteration of the step's own loop is for, or a part of it."""

    source: Literal["item"]
    path: str = ""


InputSource = Annotated[
    InitialInput | StaticValue | PreviousStep | Template | Expression | LoopItem,
    Field(discriminator="source"),
]


class Retry(_Part):
    """How often a failing step is tried in all, and the pauses in seconds between the tries.

    Each pause is `backoff_factor` times as long as the one before, at most 60 s.
    """

    attempts: int = Field(ge=1, le=10)
    backoff_seconds: float = Field(default=0, ge=0, le=60)
    backoff_factor: float = Field(default=1, ge=1, le=10)


class ForEach(_Part):
    """Call the tool once for each item of a list, at most `parallel` calls at a time.

    The step's output is the list of their outputs, in the order of the items. Mappings of the step
    may use `item` and `index` (from 0).
    """

    items: InputSource
    parallel: int = Field(default=1, ge=1, le=8)
    max_items: int = Field(default=100, ge=1, le=1_000)


class Parallel(_Part):
    """The place of a step in a group of branches that run at the same time.

    Neighbouring steps of the same `group` are one block. Those of the same `branch` run one after
    the other; the step behind the block waits for all branches.
    """

    group: str = Field(pattern=IDENTIFIER)
    branch: str = Field(pattern=IDENTIFIER)


class Fallback(_Part):
    """The output of a step that failed in spite of all attempts; the run goes on with it."""

    value: Any


class Approval(_Part):
    """What a person is asked before the run goes on; `message` is a template.

    The step's output is `{approved, by, note, values}`, `values` as `input_schema` says. Whoever
    refuses ends the run, unless `on_rejected` is `continue`.
    """

    title: str = Field(default="", max_length=200)
    message: str = Field(default="", max_length=5_000)
    input_schema: dict[str, Any] | None = None
    on_rejected: Literal["fail", "continue"] = "fail"
    expires_after_seconds: int | None = Field(default=None, ge=60, le=90 * 86_400)


class Step(_Part):
    """One call of a tool, or a question to a person (`approval`)."""

    step_number: int
    key: str | None = Field(default=None, pattern=IDENTIFIER)
    """Stays with the step when it is moved or renamed; unique within the sequence."""
    title: str = Field(default="", max_length=120)
    tool_to_run_id: str | None = Field(default=None, min_length=1)
    tool_version: int | None = Field(default=None, ge=1, le=2**31 - 1)
    approval: Approval | None = None
    input_mapping: dict[str, InputSource] = Field(default_factory=dict)
    output_display_success: str = ""
    output_display_failure: str = ""
    continue_on_failure: bool = False
    store_output_as: str | None = Field(default=None, pattern=IDENTIFIER)
    retry: Retry | None = None
    timeout_seconds: int = Field(default=30, ge=1, le=300)
    when: str | None = Field(default=None, min_length=1, max_length=500)
    """A CEL expression over `initial` and `steps`; where it is false the step is skipped."""
    for_each: ForEach | None = None
    parallel: Parallel | None = None
    fallback: Fallback | None = None
    disabled: bool = False
    repeatable: bool = False
    """Its author says that the call may be made twice, whatever is known of the tool."""

    @property
    def tool(self) -> str:
        """Return the id of the tool that it calls; empty for a question to a person."""
        return self.tool_to_run_id or ""

    @property
    def name(self) -> str:
        """Return the title, or what a person is asked; empty: the step is called as its tool is."""
        return self.title or (self.approval.title[:120] if self.approval else "")


class Definition(_Part):
    """A sequence; without `final_output_mapping` its result is the log of its execution."""

    format: Literal[1]
    steps: Annotated[tuple[Step, ...], Field(strict=False)]
    max_concurrent_runs: int | None = Field(default=None, ge=1, le=1_000)
    """Runs that are at work at the same time; more of them wait."""
    final_output_mapping: dict[str, InputSource] | None = Field(default=None, min_length=1)


_PARTS: dict[str, type[BaseModel]] = {
    "": Definition,
    "steps": Step,
    "retry": Retry,
    "forEach": ForEach,
    "parallel": Parallel,
    "fallback": Fallback,
    "approval": Approval,
    "initialInput": InitialInput,
    "static": StaticValue,
    "previousStep": PreviousStep,
    "template": Template,
    "expression": Expression,
    "item": LoopItem,
}


class DefinitionInvalid(InvalidInput):
    """The sequence is not valid."""

    code = "invalid_definition"
    default_hint = "Correct the named fields and save again."

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        places = [
            f"step {problem.step}: {problem.message}" if problem.step else problem.message
            for problem in problems[:10]
        ]
        super().__init__(
            "The sequence is not valid: " + " ".join(places),
            problems=[asdict(problem) for problem in problems],
        )


def parse(data: JsonValue) -> Definition:
    """Return the definition that `data` describes; raise `DefinitionInvalid` with every problem."""
    if broken := list(unstorable(data)):
        raise DefinitionInvalid(broken)
    problems = list(order_problems(data))
    try:
        definition = Definition.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        told = [refused(detail, _PARTS) for detail in details]
        raise DefinitionInvalid([*told, *problems]) from None
    if problems:
        raise DefinitionInvalid(problems)
    return definition


LATER = ("key", "title", "approval", "parallel", "fallback", "disabled", "repeatable")
"""Fields of a step that are left out where they say nothing, so that what was saved before there
were such fields keeps its digest."""


def json_schema() -> JsonObject:
    """Return the JSON Schema of the format; `parse` checks more, such as names taken twice."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Definition.model_json_schema(by_alias=True),
        "title": "Definition of a sequence, format 1",
    }


def to_json(definition: Definition) -> JsonObject:
    """Return the definition as JSON, with its fields spelled out; `parse` takes it back."""
    data: JsonObject = definition.model_dump(mode="json", by_alias=True)
    for step in data["steps"]:
        for name in LATER:
            if not step[name]:
                del step[name]
        if step["retry"] and step["retry"]["backoffFactor"] == 1:
            del step["retry"]["backoffFactor"]
    if data["maxConcurrentRuns"] is None:
        del data["maxConcurrentRuns"]
    return data
