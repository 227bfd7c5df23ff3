"""What the builder's buttons do to a draft: add, take out, move and change steps and rows.

A button is sent as `action` with a value such as `add-step`, `move-up-2`, `remove-row-2-0` or
`insert-2:web_search`; numbers are positions in the draft, and behind a colon stands the wire name
of a tool. What makes no sense for the draft changes nothing.
"""

import copy
from dataclasses import dataclass

from sequences.definition import MAX_STEPS
from sequences.forms.drafts import APPROVAL, SAME_BRANCH, TOOL, Draft, Row, StepDraft, new_key

APPROVAL_NAME = "+approval"
"""Stands for a question to a person where the wire name of a tool may stand."""
MOST_DIGITS = 4


@dataclass(frozen=True)
class Acted:
    """What a button did: the field the keyboard goes to, by its id, and what is told of it.

    Without a `field` the keyboard stays where it was. `label` is what undo takes back.
    """

    field: str = ""
    label: str = ""
    told: str = ""


def act(draft: Draft, action: str) -> Acted:
    """Carry out one button on the draft and say where the keyboard goes."""
    name, numbers, tool = _split(action)
    steps = draft.steps
    match name, numbers:
        case "add-step", []:
            return _insert(draft, len(steps), StepDraft(tool=tool))
        case "add-approval", []:
            return _insert(draft, len(steps), StepDraft(kind=APPROVAL))
        case "insert", [index] if tool and 0 < index == len(steps) and _is_blank(steps[-1]):
            return _choose(draft, index - 1, tool)
        case "insert", [index] if index <= len(steps):
            return _insert(draft, index, _new(tool))
        case "choose", [index] if index < len(steps):
            return _choose(draft, index, tool)
        case "duplicate", [index] if index < len(steps):
            step = copy.deepcopy(steps[index])
            step.key, step.store_as = new_key(), ""
            return _insert(draft, index + 1, step)
        case "remove-step", [index] if index < len(steps):
            return _remove(draft, index)
        case "toggle", [index] if index < len(steps):
            steps[index].disabled = not steps[index].disabled
            said = "off" if steps[index].disabled else "on"
            return Acted(f"steps-{index}-menu", label=f"Turned step {index + 1} {said}")
        case _:
            return _act_on_places(draft, name, numbers)


def _act_on_places(draft: Draft, name: str, numbers: list[int]) -> Acted:
    steps = draft.steps
    match name, numbers:
        case "fold", [index] if index < len(steps):
            steps[index].collapsed = not steps[index].collapsed
            return Acted()
        case "fold-all" | "unfold-all", []:
            for step in steps:
                step.collapsed = name == "fold-all"
            return Acted()
        case "move-up", [index] if 0 < index < len(steps):
            return _move(draft, index, index - 1)
        case "move-down", [index] if index < len(steps) - 1:
            return _move(draft, index, index + 1)
        case "move-to", [index, place] if max(index, place) < len(steps):
            return _move(draft, index, place)
        case _:
            return _act_on_rows(draft, name, numbers)


def _act_on_rows(draft: Draft, name: str, numbers: list[int]) -> Acted:
    match name, numbers:
        case "add-row", [index] if index < len(draft.steps):
            rows = draft.steps[index].rows
            rows.append(Row(source="static"))
            return Acted(f"steps-{index}-in-{len(rows) - 1}-name")
        case "remove-row", [index, row] if index < len(draft.steps):
            del draft.steps[index].rows[row : row + 1]
            return Acted(f"steps-{index}-add-row", f"Removed an input of step {index + 1}")
        case "add-final", []:
            draft.final.append(Row(source="previousStep"))
            return Acted(f"final-{len(draft.final) - 1}-name", "Added a value of the output")
        case "remove-final", [row]:
            del draft.final[row : row + 1]
            return Acted("add-final", "Removed a value of the output")
        case _:
            return Acted()


def _is_blank(step: StepDraft) -> bool:
    """Tell whether nothing was said of a step yet, as of the one that a new draft begins with."""
    said = (step.tool, step.title, step.store_as, step.when, step.rows)
    return step.kind == TOOL and not any(said)


def _new(tool: str) -> StepDraft:
    return StepDraft(kind=APPROVAL) if tool == APPROVAL_NAME else StepDraft(tool=tool)


def _insert(draft: Draft, index: int, step: StepDraft) -> Acted:
    if len(draft.steps) >= MAX_STEPS:
        return Acted(told=f"A sequence has at most {MAX_STEPS} steps.")
    step.key = step.key or new_key()
    if index < len(draft.steps) and draft.steps[index].beside:
        # What is put into a block belongs to it.
        step.beside = step.beside or SAME_BRANCH
    draft.steps.insert(index, step)
    return Acted(_first_field(step, index))


def _choose(draft: Draft, index: int, tool: str) -> Acted:
    step = draft.steps[index]
    if tool == APPROVAL_NAME:
        step.kind, step.tool, step.version = APPROVAL, "", ""
    else:
        step.kind, step.tool, step.version = TOOL, tool, ""
    return Acted(_first_field(step, index))


def _remove(draft: Draft, index: int) -> Acted:
    step = draft.steps.pop(index)
    called = step.title or step.tool
    told = f"Step {index + 1}{f' ({called})' if called else ''} is removed. Undo brings it back."
    if not draft.steps:
        return Acted("add-step", told=told)
    left = max(index - 1, 0)
    return Acted(f"steps-{left}-menu", told=told)


def _move(draft: Draft, index: int, place: int) -> Acted:
    draft.steps.insert(place, draft.steps.pop(index))
    return Acted()


def _first_field(step: StepDraft, index: int) -> str:
    return f"steps-{index}-ask_message" if step.kind == APPROVAL else f"steps-{index}-tool"


def _split(action: str) -> tuple[str, list[int], str]:
    front, _, tool = action.partition(":")
    parts = front.split("-")
    numbers = [int(part) for part in parts if part.isdecimal() and len(part) <= MOST_DIGITS]
    return ("-".join(part for part in parts if not part.isdecimal()), numbers, tool)
