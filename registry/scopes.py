"""What a scope looks like, and who may take one away from a tool."""

import re
from collections.abc import Collection, Iterable

from config.lib.types import JsonObject

FORM = re.compile(r"[a-z0-9]+(?:[:._-][a-z0-9]+)*")
LONGEST_SCOPE = 100
MOST_SCOPES = 20
"""Scopes that one tool may require."""


def scopes_in(text: str) -> list[str]:
    """Return the scopes of a text, in which spaces or commas separate them, each once."""
    return sorted(set(text.replace(",", " ").split()))


def scope_problems(scopes: Iterable[str], known: Collection[str] = ()) -> list[str]:
    """Return what is wrong with scopes, in words; nothing when they may be required.

    Those that are `known` stand already: a package may declare scopes of any form.
    """
    named = list(scopes)
    problems = [
        f"“{scope[:LONGEST_SCOPE]}” is no scope: write small letters and digits, joined by one of "
        f": . _ -, such as mail:send, at most {LONGEST_SCOPE} characters."
        for scope in named
        if scope not in known and (len(scope) > LONGEST_SCOPE or not FORM.fullmatch(scope))
    ]
    if len(named) > MOST_SCOPES:
        problems.append(f"A tool may require at most {MOST_SCOPES} scopes; these are {len(named)}.")
    return problems


def scopes_with(
    declared: Iterable[str], *, added: Iterable[str], dropped: Collection[str]
) -> list[str]:
    """Return what a tool requires whose package declares some scopes, as a governor decided."""
    return sorted({*declared, *added} - set(dropped))


def scopes_merged(
    base: Collection[str], live: Collection[str], proposed: Collection[str]
) -> list[str]:
    """Return proposed scopes with what was changed of the live ones since `base`."""
    since = set(live) - set(base)
    return scopes_with(proposed, added=since, dropped=set(base) - set(live))


def problems_at(path: str, messages: Iterable[str]) -> list[JsonObject]:
    """Return messages as the problems of one field, `[{path, message}]`."""
    return [{"path": path, "message": message} for message in messages]
