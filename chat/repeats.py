"""Break the search loop: a model that looks again and again for what it has, or for nothing."""

from collections.abc import Sequence

from chat.calls import parsed
from chat.models import Message
from chat.models.message import Role
from registry.errors import ToolError
from registry.finding import SEARCH_TOOLS, Wanted

ALIKE = 0.8
"""Share of the terms of the longer of two searches from which on they ask for the same."""

MOST_IN_A_ROW = 2
"""Requests to the model in a row that may end in searches alone."""


class Searches:
    """The searches of one turn. A round is what the model asks for in one message."""

    def __init__(self) -> None:
        self._made: list[tuple[Wanted, list[str]]] = []
        self._rounds = 0
        self._searched = False

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Searches":
        """Return what a turn searched for until it paused, by its messages."""
        searches = cls()
        results = {row.tool_call_id: row.result or {} for row in messages if row.role == Role.TOOL}
        for row in messages:
            for call in row.tool_calls if row.role == Role.ASSISTANT else ():
                if call["name"] != SEARCH_TOOLS:
                    searches.called()
                    continue
                searches.asked()
                output = results.get(call["id"], {}).get("output")
                try:
                    wanted = Wanted.of(parsed(call["arguments"])[0])
                except ToolError:
                    continue  # it was answered with what is wrong with it
                if isinstance(output, dict) and output.get("tools"):
                    searches.made(wanted, [tool["name"] for tool in output["tools"]])
                elif isinstance(output, dict):
                    searches.made(wanted, [])
            searches.next_round()
        return searches

    def asked(self) -> None:
        """Note that the model searches."""
        self._searched = True

    def made(self, wanted: Wanted, names: Sequence[str]) -> None:
        """Note what a search found."""
        self._made.append((wanted, list(names)))

    def called(self) -> None:
        """Note that the model calls a tool: the searching is over."""
        self._rounds = 0
        self._searched = False

    def next_round(self) -> None:
        """Note that the model is asked again; nothing changes where it did not search."""
        self._rounds += self._searched
        self._searched = False

    def refusal(self, wanted: Wanted) -> str:
        """Return why the model is to stop searching, with what it has; "" where it may search."""
        names = next((names for made, names in self._made if _alike(made, wanted)), None)
        if names is not None:
            return (
                f"You searched for this already and found: {_listed(names)}. Stop searching: use "
                "what you have, or tell the user what is missing."
            )
        if self._rounds >= MOST_IN_A_ROW:
            found = [name for _, names in self._made for name in names]
            return (
                f"You searched {self._rounds} times in a row without calling a tool, and found: "
                f"{_listed(found)}. Stop searching: call the tool that fits best, or tell the "
                "user what is missing."
            )
        return ""


def _alike(one: Wanted, other: Wanted) -> bool:
    """Tell whether two searches ask for the same, or nearly so."""
    if (frozenset(one.names), one.pattern) != (frozenset(other.names), other.pattern):
        return False
    longer = max(len(one.terms), len(other.terms))
    return one.terms == other.terms or len(one.terms & other.terms) >= ALIKE * longer


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"
