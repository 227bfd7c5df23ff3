"""What the builder's buttons do to a draft: add, take out and move steps and rows.

A button is sent as `action` with a value such as `add-step`, `move-up-2` or `remove-row-2-0`;
numbers are positions in the draft. What makes no sense for the draft changes nothing.
"""

from dataclasses import dataclass

from sequences.forms.drafts import Draft, Row, StepDraft


@dataclass(frozen=True)
class Focus:
    """Which field the keyboard goes to afterwards, by its id; empty: where it was."""

    field: str = ""


def act(draft: Draft, action: str) -> Focus:
    """Carry out one button on the draft and say where the keyboard goes."""
    name, *numbers = _split(action)
    match name, numbers:
        case "add-step", []:
            draft.steps.append(StepDraft())
            return Focus(f"steps-{len(draft.steps) - 1}-tool")
        case "remove-step", [index] if index < len(draft.steps):
            del draft.steps[index]
            return Focus(f"steps-{max(index - 1, 0)}-tool")
        case "move-up", [index] if 0 < index < len(draft.steps):
            return _swap(draft, index, index - 1)
        case "move-down", [index] if index < len(draft.steps) - 1:
            return _swap(draft, index, index + 1)
        case "add-row", [index] if index < len(draft.steps):
            rows = draft.steps[index].rows
            rows.append(Row(source="static"))
            return Focus(f"steps-{index}-in-{len(rows) - 1}-name")
        case "remove-row", [index, row] if index < len(draft.steps):
            del draft.steps[index].rows[row : row + 1]
            return Focus(f"steps-{index}-tool")
        case "add-final", []:
            draft.final.append(Row(source="previousStep"))
            return Focus(f"final-{len(draft.final) - 1}-name")
        case "remove-final", [row]:
            del draft.final[row : row + 1]
            return Focus("add-final")
        case _:
            return Focus()


def _swap(draft: Draft, one: int, other: int) -> Focus:
    draft.steps[one], draft.steps[other] = draft.steps[other], draft.steps[one]
    return Focus(f"steps-{other}-tool")


def _split(action: str) -> tuple[str, *tuple[int, ...]]:
    parts = action.split("-")
    numbers = [int(part) for part in parts if part.isdecimal()]
    return ("-".join(part for part in parts if not part.isdecimal()), *numbers)
