"""Put the flat list of a definition's steps into blocks: one step, or branches side by side."""

from dataclasses import dataclass
from itertools import groupby

from sequences.definition import Definition, Step

Branch = tuple[Step, ...]
"""Steps that are done one after the other."""


@dataclass(frozen=True)
class Block:
    """Branches that are done at the same time; a step outside of any group is a block of its own.

    What comes behind the block waits for all of them.
    """

    branches: tuple[Branch, ...]

    @property
    def steps(self) -> Branch:
        """Return all steps of the block, in the order of the definition."""
        every = (step for branch in self.branches for step in branch)
        return tuple(sorted(every, key=lambda step: step.step_number))


def blocks_of(definition: Definition, until: int | None = None) -> list[Block]:
    """Return the blocks in their order; with `until`, of the steps up to that number alone."""
    steps = [step for step in definition.steps if until is None or step.step_number <= until]
    return [Block(_branches(list(block))) for _, block in groupby(steps, key=_block_of)]


def _block_of(step: Step) -> str | int:
    return step.parallel.group if step.parallel else step.step_number


def _branches(steps: list[Step]) -> tuple[Branch, ...]:
    branches: dict[str, list[Step]] = {}
    for step in steps:
        branches.setdefault(step.parallel.branch if step.parallel else "", []).append(step)
    return tuple(tuple(branch) for branch in branches.values())
