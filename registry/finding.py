"""What a model asks of `search_tools`, and how it is searched: in chat, and for MCP clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.errors import InvalidArguments
from registry.search import patterns
from registry.search.lookup import LONGEST_NAME, MOST_NAMES, look_up
from registry.search.need import LONGEST_QUERY, MOST_QUERIES
from registry.search.patterns import LONGEST as LONGEST_PATTERN
from registry.search.service import Mode, SearchAnswer, search
from registry.search.tokens import tokenize
from registry.search.why import why_words
from registry.specs import ToolSpec

SEARCH_TOOLS = "search_tools"
"""The meta-tool by which a model finds what it was not given."""

LONGEST_NEED = 2_000

MOST_FOUND = 10
"""Tools that one search gives a model."""

SEARCH_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "need": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_NEED,
            "description": "What the tool must be able to do, in a sentence: "
            "“a tool that converts HTML to Markdown”.",
        },
        "queries": {
            "type": "array",
            "maxItems": MOST_QUERIES,
            "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_QUERY},
            "description": "Further needs, one tool each: "
            "[“a tool that reads a web page”, “a tool that sends e-mail”].",
        },
        "names": {
            "type": "array",
            "maxItems": MOST_NAMES,
            "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
            "description": "Names of tools, where you know them.",
        },
        "pattern": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_PATTERN,
            "description": "A regular expression that a name, title, package or "
            "description matches, whatever the case: “sales|weather”, “^github_.*issue”.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FOUND,
            "default": 5,
            "description": "How many tools to find at most.",
        },
    },
    "additionalProperties": False,
}
"""What `search_tools` takes."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One search: needs in words, names that are known, a pattern, or several of them."""

    need: str = ""
    queries: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    pattern: str = ""

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> "Wanted":
        """Return what checked arguments ask for.

        Raises InvalidArguments where that is nothing, and PatternInvalid.
        """
        wanted = cls(
            need=_text(arguments.get("need")),
            queries=_texts(arguments.get("queries")),
            names=_texts(arguments.get("names")),
            pattern=_text(arguments.get("pattern")),
        )
        if not (wanted.needs or wanted.names or wanted.pattern):
            raise InvalidArguments(
                "need: say what the tool must be able to do.",
                "Send “need”, or “queries”, “names” or “pattern”.",
            )
        if wanted.pattern:
            patterns.read(wanted.pattern)
        return wanted

    @property
    def needs(self) -> tuple[str, ...]:
        """Return what is wanted in words."""
        return tuple(text for text in (self.need, *self.queries) if text)

    @property
    def terms(self) -> frozenset[str]:
        """Return the stems of what is wanted in words."""
        return frozenset(term for need in self.needs for term in tokenize(need))

    @property
    def mode(self) -> str:
        """Return how it is searched, several ways with blanks between."""
        return " ".join(mode.value for mode, _ in self.ways()) or Mode.WORDS.value

    @property
    def told(self) -> str:
        """Return what was asked for, in one line."""
        return " · ".join(filter(None, [*self.needs, *self.names, self.pattern]))

    def why(self, spec: ToolSpec) -> str:
        """Return why a tool that was ranked by its words fits."""
        return why_words(self.needs, (spec.wire_name, spec.title, spec.told))

    def ways(self) -> list[tuple[Mode, tuple[str, ...]]]:
        """Return how it is searched, each with its texts."""
        ways = (
            (Mode.EXACT, self.names),
            (Mode.REGEX, (self.pattern,) if self.pattern else ()),
            (Mode.WORDS, self.needs),
        )
        return [(mode, texts) for mode, texts in ways if texts]


def searched(
    wanted: Wanted,
    *,
    user: User,
    recent: Sequence[str],
    limit: int,
    exclude: frozenset[UUID],
    scopes: frozenset[str] | None,
) -> list[SearchAnswer]:
    """Search in each way that is asked for: known names first, then the pattern, then the words.

    What one way finds is left out by the next, and all together find no more than `limit`.
    """
    answers: list[SearchAnswer] = []
    seen = frozenset[UUID]()
    for mode, texts in wanted.ways() or [(Mode.WORDS, ("",))]:
        left_out = exclude | seen
        if mode == Mode.WORDS:
            answer = search(
                texts[0],
                user=user,
                recent=recent,
                queries=texts[1:],
                limit=limit,
                at_hand=left_out,
                scopes=scopes,
            )
        else:
            answer = look_up(
                texts, mode=mode, user=user, limit=limit, exclude=left_out, scopes=scopes
            )
        answers.append(answer.without(seen))
        found = frozenset(hit.tool_id for hit in answer.found)
        seen |= found
        limit -= len(found)
    return answers


def guidance(spec: ToolSpec) -> JsonObject:
    """Return when to use a tool: `{use?, limits?, needs?}`, `needs` the variables it wants."""
    told = {
        "use": spec.ai_agent.get("useCase"),
        "limits": spec.ai_agent.get("limitations"),
        "needs": ", ".join(variable.name for variable in spec.env if variable.required),
    }
    return {name: words for name, words in told.items() if words}


def told_guidance(spec: ToolSpec) -> str:
    """Return when to use a tool, in sentences, or nothing."""
    words = {"use": "Use it: {}", "limits": "Limits: {}", "needs": "Needs the variable {}."}
    return " ".join(words[name].format(told) for name, told in guidance(spec).items())


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    texts = map(_text, value if isinstance(value, list) else ())
    return tuple(dict.fromkeys(filter(None, texts)))
