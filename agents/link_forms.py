"""Read what the page of a link sends."""

import json
from collections.abc import Mapping
from typing import Any

from agents.link_settings import LinkSettings
from config.lib.errors import DomainError, InvalidInput
from config.lib.numbers import whole_number

FIELDS = {"config", "approval", "name", "description"}


def settings_sent(sent: Mapping[str, Any]) -> LinkSettings:
    """Return the settings that a form has fields for; raise InvalidInput with `problems`."""
    settings: LinkSettings = {}
    if "version" in sent:
        settings["pinned_version"] = _number(sent["version"])
    if "approval" in sent:
        settings["approval"] = sent["approval"]
    if "name" in sent:
        settings["name"] = sent["name"]
    if "description" in sent:
        settings["description"] = sent["description"]
    if "config" in sent:
        settings["config"] = _presets(sent["config"])
    return settings


def link_problems(error: DomainError) -> dict[str, list[str]]:
    """Return field → what is wrong with it, for those problems that belong to a field."""
    problems: dict[str, list[str]] = {}
    for problem in error.extra.get("problems", ()):
        if problem["path"] in FIELDS:
            problems.setdefault(problem["path"], []).append(problem["message"])
    return problems


def _number(text: str) -> int | None:
    if not text.strip():
        return None
    number = whole_number(text)
    if not number:
        raise InvalidInput("This is not the number of a version.", "Choose one from the list.")
    return number


def _presets(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, ValueError) else "it is nested too deep"
        raise InvalidInput(
            f"The presets are no JSON: {told}.",
            'Write an object such as {"language": "en"}.',
            problems=[{"path": "config", "message": f"This is no JSON: {told}."}],
        ) from None
