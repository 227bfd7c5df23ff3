"""Prepare what is shown of a sequence that is not here yet: its steps, inputs and tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.schema_forms import FormField, form_fields
from registry.schemas import check_schema
from sequences.definition import Problem
from sequences.documents import SequenceDocument
from sequences.picture import flow_picture
from sequences.picture_parts import Picture
from sequences.portable import Match, Resolved


@dataclass(frozen=True, kw_only=True)
class StepShown:
    """One step in words; `marks` say how it is called (loop, branch, condition …)."""

    number: int
    title: str
    tool: str
    marks: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Preview:
    """All that a page shows of a document; `problems` are those of no step."""

    document: SequenceDocument
    steps: tuple[StepShown, ...]
    inputs: tuple[FormField, ...]
    matches: tuple[Match, ...] = ()
    problems: tuple[Problem, ...] = ()
    picture: Picture

    @property
    def problem_count(self) -> int:
        """Return how many things are to be mended."""
        return len(self.problems) + sum(len(step.problems) for step in self.steps)


def preview_of(whole: Resolved) -> Preview:
    """Return what is shown of a document as it was resolved here."""
    named = {match.named.id: match for match in whole.matches}
    names = {
        name: match.tool.wire_name if match.tool else match.named.wire_name
        for name, match in named.items()
    }
    return _shown(whole.document, names, matches=whole.matches, problems=whole.problems)


def card_of(document: SequenceDocument) -> Preview:
    """Return what is shown of a document that is known to be whole."""
    return _shown(document, {tool.id: tool.wire_name for tool in document.tools})


def _shown(
    document: SequenceDocument,
    names: Mapping[str, str],
    *,
    matches: tuple[Match, ...] = (),
    problems: tuple[Problem, ...] = (),
) -> Preview:
    raw = document.definition.get("steps")
    steps = [step for step in raw if isinstance(step, dict)] if isinstance(raw, list) else []
    schema = document.input_schema
    return Preview(
        document=document,
        steps=tuple(
            _step(number, step, names, tuple(p for p in problems if p.step == number))
            for number, step in enumerate(steps, 1)
        ),
        inputs=tuple(form_fields(schema)) if not list(check_schema(schema)) else (),
        matches=matches,
        problems=tuple(p for p in problems if not p.step or p.step > len(steps)),
        picture=flow_picture(
            document.definition,
            names,
            {problem.step: "invalid" for problem in problems if problem.step},
            link="",
        ),
    )


def _step(
    number: int, step: Mapping[str, Any], names: Mapping[str, str], problems: tuple[Problem, ...]
) -> StepShown:
    called = str(step.get("toolToRunId") or "")
    tool = names.get(called, called)
    approval = step.get("approval") if isinstance(step.get("approval"), dict) else None
    title = str(step.get("title") or (approval or {}).get("title") or "")
    return StepShown(
        number=number,
        title=title or tool,
        tool="" if approval else tool,
        marks=tuple(_marks(step)),
        problems=problems,
    )


def _marks(step: Mapping[str, Any]) -> list[str]:
    words = {
        "approval": "asks a person",
        "forEach": "for each item",
        "when": "only if",
        "retry": "tries again",
        "fallback": "goes on when it fails",
        "disabled": "switched off",
    }
    marks = [told for field, told in words.items() if step.get(field)]
    place = step.get("parallel")
    if isinstance(place, dict):
        marks.append("beside others")
    return marks
