"""What a model asks of `search_tools`, and what it is answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from chat.tool_schemas import guidance
from config.lib.types import JsonObject
from registry.errors import InvalidArguments
from registry.search import patterns
from registry.search.lookup import look_up
from registry.search.service import Mode, SearchAnswer, search
from registry.search.tokens import tokenize
from registry.search.why import why_words
from registry.specs import ToolSpec


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


def output_of(found: Iterable[tuple[ToolSpec, str]], had: Sequence[str]) -> JsonObject:
    """Return what the model is answered: tools with why they fit, and what to do now."""
    tools = [
        {"name": spec.wire_name, "description": spec.told, "why": why, **guidance(spec)}
        for spec, why in found
    ]
    notes = []
    if had:
        notes.append(f"You had these before, use them: {', '.join(had)}.")
    if tools:
        notes.append("You can call these tools now. Stop searching and use the one that fits.")
    elif not had:
        notes.append(
            "No tool fits. Do not search for the same need again: answer with what you have, "
            "or tell the user what is missing."
        )
    return {"tools": tools, "note": " ".join(notes)}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    texts = map(_text, value if isinstance(value, list) else ())
    return tuple(dict.fromkeys(filter(None, texts)))
