"""A draft as it is tested: what its definition is by now, and the input at hand."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonSchema
from registry.schemas import check_schema
from sequences.definition import DefinitionInvalid
from sequences.drafts import draft_kept
from sequences.forms.definitions import definition_from_draft, schema_from_draft
from sequences.forms.drafts import Draft
from sequences.forms.step_tools import StepTool, tools_of
from sequences.models import Run, SequenceDraft
from sequences.opened import Opened
from sequences.test_board import TestedStep, board_of
from sequences.testing import latest_test, no_such_step


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A draft as it is tested: its definition and input schema as far as they can be read."""

    draft: SequenceDraft
    definition: JsonObject
    schema: JsonSchema
    problem: str
    chosen: dict[str, StepTool]

    @property
    def names(self) -> dict[str, str]:
        """Return the titles of its tools, by id."""
        return {tool.id: tool.title for tool in self.chosen.values()}

    def require_schema(self) -> None:
        """Raise InvalidInput where the input schema cannot be read: no input can be checked."""
        if self.problem:
            raise InvalidInput(self.problem, "Mend the input schema first.")

    def board(self, test: Run | None) -> list[TestedStep]:
        """Return the steps with what is known of each; `test` is the newest one."""
        return board_of(self.draft, self.definition, self.names, test)

    def step(self, key: str, test: Run | None) -> TestedStep:
        """Return one step with what is known of it, or raise NotFound."""
        for step in self.board(test):
            if step.key == key:
                return step
        raise no_such_step()


def bench_of(opened: Opened, *, user: User) -> Bench:
    """Return a draft as it is tested; one of which nothing was changed yet is kept for it."""
    form = opened.draft
    chosen = tools_of(user, form)
    schema, problem = _schema(form)
    definition = definition_from_draft(form, chosen)
    for step, drafted in zip(definition["steps"], form.steps, strict=True):
        # what a step gave is kept by its key, which a definition may leave out
        step.setdefault("key", drafted.key)
    return Bench(
        draft=draft_kept(opened, user=user),
        definition=definition,
        schema=schema,
        problem=problem,
        chosen=chosen,
    )


def input_at_hand(bench: Bench, *, user: User) -> JsonObject:
    """Return the input of the last test, else of the first sample, else none."""
    test = latest_test(bench.draft, user)
    sample = bench.draft.samples.order_by("name", "pk").first()
    given: JsonObject = test.input if test else sample.input if sample else {}
    return given


def _schema(form: Draft) -> tuple[JsonSchema, str]:
    try:
        found = schema_from_draft(form)
    except DefinitionInvalid as error:
        return {}, error.problems[0].message
    if problems := check_schema(found):
        return {}, f"The input schema is not valid: {problems[0].message}"
    return (found if isinstance(found, dict) else {}), ""
