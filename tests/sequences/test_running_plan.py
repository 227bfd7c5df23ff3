"""The blocks that a definition's flat list of steps falls into."""

from typing import Any

from sequences.definition import Definition, parse
from sequences.running.plan import blocks_of


def definition(*places: str | None) -> Definition:
    """Make a definition whose steps stand at these places, each `group.branch` or None."""
    steps: list[dict[str, Any]] = []
    for number, place in enumerate(places, 1):
        step: dict[str, Any] = {"stepNumber": number, "toolToRunId": "x"}
        if place:
            group, branch = place.split(".")
            step["parallel"] = {"group": group, "branch": branch}
        steps.append(step)
    return parse({"format": 1, "steps": steps})


def numbers(*places: str | None, until: int | None = None) -> list[list[list[int]]]:
    return [
        [[step.step_number for step in branch] for branch in block.branches]
        for block in blocks_of(definition(*places), until)
    ]


def test_a_step_outside_of_any_group_is_a_block_of_its_own() -> None:
    assert numbers(None, None) == [[[1]], [[2]]]


def test_neighbours_of_a_group_are_one_block_with_its_branches() -> None:
    assert numbers(None, "g.a", "g.b", "g.a", None) == [[[1]], [[2, 4], [3]], [[5]]]


def test_two_groups_side_by_side_are_two_blocks() -> None:
    assert numbers("g.a", "g.b", "h.a") == [[[1], [2]], [[3]]]


def test_a_test_up_to_some_step_plans_no_step_behind_it() -> None:
    assert numbers("g.a", "g.b", "g.a", None, until=2) == [[[1], [2]]]


def test_the_steps_of_a_block_come_in_their_own_order() -> None:
    (block,) = blocks_of(definition("g.a", "g.b", "g.a"))
    assert [step.step_number for step in block.steps] == [1, 2, 3]
