"""The pieces of a turn that the page shows; `chat.folding` puts them together."""

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from chat.markdown import Growing
from chat.pictures import Segment, budget_segments, score_segments
from chat.value_tree import one_line
from config.lib.types import JsonObject, JsonValue
from registry.code_tool import RUN_CODE
from registry.media import Media

UNDER_WAY = frozenset({"drafting", "running", "waiting"})
"""States of a call that is not over."""

MOST_NAMED = 4
"""Tools that the line over a group of calls names."""


@dataclass
class Part:
    """One piece of a turn; `id` is unique on the page."""

    id: str = ""
    template: str = ""


@dataclass
class Words(Part):
    """Something the agent said; `busy` while it is still saying it.

    `growing` is how much of it a page has, where one follows it.
    """

    template: str = "chat/_words.html"
    text: str = ""
    busy: bool = False
    growing: Growing | None = field(default=None, compare=False, repr=False)


WAYS = {"words": "by words", "exact": "by name", "regex": "by pattern"}
"""How a search went, by its mode."""

ORIGINS = {"linked": "Linked", "kept": "Kept from before", "found": "Found now"}
"""Why a model is told of a tool."""


@dataclass
class Found(Part):
    """Why these tools: what a search found, and what the model is told of, as
    `chat.injection.Toolbox.discover` tells it.

    `turn_id` is given where the person may say what it should have found.
    """

    template: str = "chat/_found.html"
    found: JsonObject = field(default_factory=dict)
    turn_id: str = ""

    @property
    def injected(self) -> list[JsonObject]:
        """Return the tools that were added."""
        return [tool for tool in self.found.get("tools", []) if tool["injected"]]

    @property
    def ways(self) -> str:
        """Return how it was searched: `by name and by pattern`."""
        modes = self.found.get("mode", "").split()
        return " and ".join(WAYS[mode] for mode in modes if mode in WAYS) or WAYS["words"]

    @property
    def searched(self) -> bool:
        """Tell whether it was searched at all; earlier turns, which do not say so, all did."""
        return bool(self.found.get("searched", True))

    @property
    def candidates(self) -> list[tuple[JsonObject, list[Segment]]]:
        """Return the tools that were looked at, each with its score as a bar."""
        return [(tool, score_segments(tool)) for tool in self.found.get("tools", [])]

    @property
    def budget(self) -> list[Segment]:
        """Return what the schemas take, as a bar."""
        return budget_segments(self.found.get("tokens") or {})

    @property
    def origins(self) -> list[tuple[str, list[JsonObject]]]:
        """Return the tools that the model is told of, by why it is."""
        visible = self.found.get("visible", [])
        groups = (
            (words, [tool for tool in visible if tool["origin"] == origin])
            for origin, words in ORIGINS.items()
        )
        return [(words, tools) for words, tools in groups if tools]


@dataclass
class CallCard(Part):
    """A tool call; `steps` is `[{number, message, status}]` of a sequence's run, or the calls that
    a program makes, as it goes. `invocation` is the one whose page tells all of them.

    `status`: `drafting` while the model still writes the arguments, `running`, `waiting` for a
    person, `succeeded`, `failed` or `stopped`. `drafted` is how many characters are written.
    """

    template: str = "chat/_call.html"
    name: str = ""
    arguments: JsonValue = None
    status: str = "running"
    output: JsonValue = None
    error: JsonObject | None = None
    duration_ms: int | None = None
    started_at: datetime | None = None
    drafted: int = 0
    run_id: str = ""
    steps: list[JsonObject] = field(default_factory=list)
    logs: list[JsonObject] = field(default_factory=list)
    invocation: str = ""
    media: list[Media] = field(default_factory=list)
    found: Found | None = None
    turn_id: str = ""
    artifact: JsonObject | None = None
    saved: list[JsonObject] = field(default_factory=list)

    @property
    def code(self) -> str:
        """Return the program that the call runs, or nothing."""
        given = self.arguments.get("code") if isinstance(self.arguments, dict) else None
        return given if self.name == RUN_CODE and isinstance(given, str) else ""

    @property
    def printed(self) -> str:
        """Return what the program of the call printed."""
        told = self.output.get("printed") if self.code and isinstance(self.output, dict) else None
        return told if isinstance(told, str) else ""

    @property
    def reached(self) -> str:
        """Return in a line how far its steps are."""
        begun = [step for step in self.steps if step["status"] != "planned"]
        if not begun:
            return ""
        words = str(begun[-1].get("message") or "")
        return words if len(begun) == len(self.steps) else f"{len(begun)}/{len(self.steps)} {words}"

    @property
    def given(self) -> str:
        """Return the arguments in one line."""
        return one_line(self.code or self.arguments)

    @property
    def gave(self) -> str:
        """Return the result in one line, or what went wrong."""
        if self.error:
            return one_line(self.error.get("message", ""))
        return one_line(self.output) if self.status == "succeeded" else ""

    @property
    def elapsed_ms(self) -> int:
        """Return for how long it has run by now; a browser counts on from there."""
        if self.started_at is None:
            return 0
        return max(0, round((timezone.now() - self.started_at).total_seconds() * 1000))


@dataclass
class Group(Part):
    """Calls that came one after another; `folded` once something followed them."""

    template: str = "chat/_group.html"
    cards: list[CallCard] = field(default_factory=list)
    folded: bool = False

    @property
    def busy(self) -> bool:
        """Tell whether one of the calls is under way."""
        return any(card.status in UNDER_WAY for card in self.cards)

    @property
    def is_open(self) -> bool:
        """Tell whether the calls are shown before anybody asks for them."""
        return self.busy or not self.folded or len(self.cards) == 1

    @property
    def names(self) -> str:
        """Return the tools that were called, each once: `calculator, dice and 2 more`."""
        names = list(dict.fromkeys(card.name for card in self.cards))
        more = len(names) - MOST_NAMED
        return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

    @property
    def failures(self) -> str:
        """Return the tools whose calls failed."""
        return ", ".join(dict.fromkeys(c.name for c in self.cards if c.status == "failed"))

    @property
    def duration_ms(self) -> int:
        """Return how long the calls took, all together."""
        return sum(card.duration_ms or 0 for card in self.cards)


@dataclass
class Ask(Part):
    """Something that the turn asks of the person: an approval, a credential, an answer, or to look
    at another agent that waits for them.

    `asked`: `{arguments, reason, schema}`, `{names}`, `{question, options}` or
    `{agent, conversation, turn}`. `answer` is `{decision, ...}` once it is decided, never with a
    secret; `answered_at` where it is known.
    `agent_name` is the agent's where it is the person's own: a credential may be kept for it.
    """

    template: str = "chat/_ask.html"
    request: str = ""
    kind: str = ""
    call_id: str = ""
    tool: str = ""
    title: str = ""
    asked: JsonObject = field(default_factory=dict)
    answer: JsonObject | None = None
    answered_at: datetime | None = None
    agent_name: str = ""
    open: bool = True

    @property
    def asks_for_run(self) -> bool:
        """Tell whether the run of a sequence asks, and not the agent."""
        return "run_request" in self.asked

    @property
    def words(self) -> str:
        """Return what was decided, as one says it to the person who did."""
        decision = (self.answer or {}).get("decision", "")
        changed = " with other arguments" if (self.answer or {}).get("changed") else ""
        if self.asks_for_run:
            verb = {"approve": "approved", "deny": "refused"}.get(decision)
            if verb:
                return f"You {verb} “{self.asked.get('title')}”{' with values' if changed else ''}"
            if decision == "done":
                return f"“{self.asked.get('title')}” was answered on the page of the run"
        told = {
            ("approval", "approve"): f"You approved {self.tool}{changed}",
            ("approval", "deny"): f"You denied {self.tool}",
            ("credential", "set"): f"You set {', '.join(self.asked.get('names') or [])}",
            ("credential", "skip"): f"You went on without what {self.tool} needs",
            ("question", "answer"): "You answered",
            ("question", "skip"): "You left the question open",
            ("agent", decision): f"{self.asked.get('agent') or 'The other agent'} has its answer",
            (self.kind, "stopped"): "The turn was stopped before anybody answered",
        }
        return told.get((self.kind, decision), "This was decided")


@dataclass
class Note(Part):
    """A quiet line on what happened behind the answer."""

    template: str = "chat/_note.html"
    text: str = ""


@dataclass
class Ending(Part):
    """How a turn ended that did not end with an answer: `failed` or `stopped`."""

    template: str = "chat/_ending.html"
    status: str = ""
    error: JsonObject | None = None
    turn_id: str = ""


@dataclass(frozen=True)
class Change:
    """A part that is new, that looks different, or that is gone.

    `into` is the id of the element at whose end a new part is put; `progress`: only how far a
    call is has changed, and what a reader has opened in its card stays as it is.
    """

    part: Part
    new: bool
    into: str = ""
    progress: bool = False
    gone: bool = False
