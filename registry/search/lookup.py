"""Find tools without ranking words: by pattern, by name, by how a name begins, by likeness."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.contrib.auth.models import User

from registry.models import Tool
from registry.search import patterns
from registry.search.catalogue import document_of
from registry.search.deadline import Deadline
from registry.search.engine import Ranked
from registry.search.facts import Narrowing
from registry.search.index import process_index
from registry.search.names import LINES
from registry.search.replica import MOST_RANKED, Candidate
from registry.search.service import (
    EVERYTHING,
    Judge,
    Mode,
    SearchAnswer,
    audience_of,
    since,
)
from registry.selectors import tools_usable_by

LONGEST_NAME = 200
"""Characters of a name or of its beginning that are read; no tool is called more."""

MOST_NAMES = 20
"""Names that one lookup takes."""


FITS = 1.0
"""The score of a tool that is as asked for: there is no more or less to it."""


@dataclass(frozen=True, kw_only=True)
class Alike:
    """A tool that is like another; `score` in 0–1 says how much."""

    tool: Tool
    score: float
    same_package: bool


def look_up(
    texts: Sequence[str],
    *,
    mode: Mode,
    user: User,
    limit: int = 5,
    most: int = MOST_RANKED,
    exclude: frozenset[UUID] = frozenset(),
    scopes: frozenset[str] | None = None,
    narrowing: Narrowing = EVERYTHING,
) -> SearchAnswer:
    """Return the tools that a person may use and whose name or text is as asked for.

    No more than `most` are told of, those included that are left out or beyond `limit`.

    `texts` are names for `exact`, of which each is looked up, else one pattern or beginning. What
    would not help is told with the reason, as `search` does. Raises PatternInvalid,
    PatternTooSlow and SearchTimeout.
    """
    started = time.perf_counter()
    deadline = Deadline()
    match mode:
        case Mode.REGEX:
            whys = _matching(texts, user, narrowing, deadline)
        case Mode.EXACT:
            whys = _called(texts, user, narrowing, deadline)
        case _:
            whys = _begun(texts, user, narrowing, deadline)
    found = [Candidate(Ranked(tool_id, FITS, {}), fits=True) for tool_id in islice(whys, most)]
    judge = Judge(user, limit, exclude, scopes, whys=whys)
    with deadline.querying():
        hits = tuple(judge.hits(found))
    return SearchAnswer(query=", ".join(texts), hits=hits, took_ms=since(started), mode=mode)


def tools_like(tool: Tool, user: User, limit: int = 6) -> list[Alike]:
    """Return the tools that a person may use and that are the most like one, the nearest first.

    Those that are broken or retired are left out: they would be no help in its place.
    """
    deadline = Deadline()
    audience, document = audience_of(user), document_of(tool)
    near = process_index.using(lambda replica: replica.like(document, audience, limit), deadline)
    with deadline.querying():
        tools = tools_usable_by(user).in_bulk([UUID(each.id) for each in near])
    return [
        Alike(
            tool=found,
            score=each.score,
            same_package=found.package_id is not None and found.package_id == tool.package_id,
        )
        for each in near
        if (found := tools.get(UUID(each.id))) and found.pk != tool.pk
    ]


def _matching(
    texts: Sequence[str], user: User, narrowing: Narrowing, deadline: Deadline
) -> dict[str, str]:
    """Match outside the index's lock: others search meanwhile."""
    pattern = patterns.read("".join(texts[:1]))
    audience = audience_of(user)
    held = process_index.using(lambda replica: replica.texts(audience, narrowing), deadline)
    found = held.in_order(patterns.matches(pattern, held.texts))
    return {tool_id: f"its {LINES[line]} matches" for tool_id, line in found[:MOST_RANKED]}


def _called(
    texts: Sequence[str], user: User, narrowing: Narrowing, deadline: Deadline
) -> dict[str, str]:
    audience = audience_of(user)
    names = [text[:LONGEST_NAME] for text in texts[:MOST_NAMES]]
    found = process_index.using(
        lambda replica: [replica.called(name, audience, narrowing) for name in names], deadline
    )
    whys = {
        tool_id: f"is called {name}"
        for name, ids in zip(names, found, strict=True)
        for tool_id in ids
    }
    return dict(list(whys.items())[:MOST_RANKED])


def _begun(
    texts: Sequence[str], user: User, narrowing: Narrowing, deadline: Deadline
) -> dict[str, str]:
    audience, text = audience_of(user), " ".join(texts)[:LONGEST_NAME]
    found = process_index.using(
        lambda replica: replica.begun(text, audience, narrowing, MOST_RANKED), deadline
    )
    return dict.fromkeys(found, f"its name has words that begin like {text}")
