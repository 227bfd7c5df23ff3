"""What is copied into a client."""

import json
import re
import shlex
from dataclasses import dataclass
from typing import Literal

from config.lib.types import JsonObject

PLACEHOLDER = "YOUR_TOKEN"
"""Stands where a token goes, until one was made."""

VARIABLE = "OUTFITTER_TOKEN"
"""The environment variable that programs read the token from."""

Language = Literal["json", "toml", "shell", "python"]


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """A text and where it goes: a file, a shell."""

    where: str
    language: Language
    text: str


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client and what it takes; `signed_in` are settings without a token, for those that let
    their person sign in."""

    key: str
    name: str
    how: str
    snippets: tuple[Snippet, ...]
    signed_in: tuple[Snippet, ...] = ()


def json_snippet(where: str, settings: JsonObject) -> Snippet:
    """Return settings as a file of JSON."""
    return Snippet(where=where, language="json", text=json.dumps(settings, indent=2))


def shell_snippet(*lines: str, where: str = "In a shell") -> Snippet:
    """Return lines for a shell."""
    return Snippet(where=where, language="shell", text="\n".join(lines))


def toml_text(text: str) -> str:
    """Return a text as TOML writes it; its basic strings are those of JSON but for U+007F."""
    return json.dumps(text).replace("\x7f", "\\u007f")


def exported(token: str) -> str:
    """Return the line that gives programs their token."""
    return f"export {VARIABLE}={shlex.quote(token)}"


def is_local(url: str) -> bool:
    """Say whether an address is on the computer that it is written down on."""
    return bool(re.match(r"https?://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)", url))
