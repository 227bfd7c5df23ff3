"""Tell what is wrong from what is only not filled in yet."""

from collections.abc import Mapping
from types import MappingProxyType

from sequences.definition import Problem
from sequences.forms.drafts import APPROVAL, Draft, Row, StepDraft

_OWN: Mapping[str, str] = MappingProxyType({"name": "name", "description": "description"})


def is_blank_at(draft: Draft, problem: Problem) -> bool:
    """Tell whether a problem is about something that holds nothing at all yet."""
    field = problem.field or ""
    if problem.step is None:
        if field == "steps":
            return not draft.steps
        if field in _OWN:
            return not getattr(draft, _OWN[field]).strip()
        return _row_blank(draft.final, field.removeprefix("finalOutputMapping."), field)
    if not 0 < problem.step <= len(draft.steps):
        return False
    return _step_blank(draft.steps[problem.step - 1], field)


def _step_blank(step: StepDraft, field: str) -> bool:
    if field == "toolToRunId":
        return step.kind != APPROVAL and not step.tool.strip()
    if field.startswith("approval"):
        return not (step.ask_title.strip() or step.ask_message.strip())
    if field == "inputMapping":
        return all(not row.value.strip() for row in step.rows)
    return _row_blank(step.rows, field.removeprefix("inputMapping."), field)


def _row_blank(rows: list[Row], name: str, field: str) -> bool:
    if name == field:
        return False
    return any(
        (row.name.strip() == name or not name)
        and row.source in ("static", "template", "expression", "previousStep", "")
        and not row.value.strip()
        for row in rows
    )
