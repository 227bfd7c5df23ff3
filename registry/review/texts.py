"""Find what the texts of a package and its tools say: every word that reaches a model."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.review.cues import BLOCK, INFO, LONGEST_USUAL, WARN, cues_in
from registry.review.letters import LONGEST_READ, mixed_scripts, scripts_of

SHOWN = ("title", "description", "category", "input_schema", "output_schema", "ai_agent")
"""Parts of a tool's snapshot that models are shown."""

MOST_TEXTS = 20_000
MOST_CHARACTERS = 500_000
"""In one tool; what the slowest text to scan takes is some seconds for as many."""
NESTING = 60


def text_findings(state: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    """Yield a finding for each cue in what `{package, tools}` says: `{code, path, message, …}`."""
    package = state.get("package") or {}
    instructions = (package.get("manifest") or {}).get("instructions")
    told = {"description": package.get("description"), "instructions": instructions}
    yield from _of_value(told, "package")
    yield from _taken_out(package)
    for export, snapshot in (state.get("tools") or {}).items():
        yield from _of_name(export, f"tools.{export}")
        shown = {name: snapshot.get(name) for name in SHOWN}
        yield from _of_value(shown, f"tools.{export}")
        yield from _of_value(_steps(snapshot), f"tools.{export}.definition")


def finding(code: str, path: str, severity: str, message: str) -> JsonObject:
    """Return a finding that is taken as introduced until the state before says otherwise."""
    return {
        "code": code,
        "path": path[:200],
        "message": message,
        "severity": severity,
        "introduced": True,
    }


def _steps(snapshot: Mapping[str, JsonValue]) -> JsonValue:
    """Return what a sequence's steps or an HTTP tool's request say in words."""
    return snapshot.get("definition") or {}


def _taken_out(package: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    """Yield what an import found and has already taken out of the texts."""
    for item in package.get("findings") or []:
        if item.get("code") == "unseen":
            path = f"tools.{item['path']}.description"
            yield finding("hidden_characters", path, BLOCK, item["message"])


def _of_name(name: str, path: str) -> Iterator[JsonObject]:
    letters = "".join(character for character in name if character.isalpha())
    scripts = scripts_of(letters)
    if len(scripts) > 1 and "LATIN" in scripts:
        told = f"Its name mixes scripts ({_listed(scripts)}), so it can pass for another."
        yield finding("mixed_script_name", path, BLOCK, told)
    elif scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH"}:
        told = f"Its name is written in {_listed(scripts)} letters, which can pass for Latin ones."
        yield finding("lookalike_name", path, WARN, told)


def _listed(scripts: set[str]) -> str:
    return " and ".join(sorted(script.capitalize() for script in scripts))


def _of_value(value: JsonValue, path: str) -> Iterator[JsonObject]:
    count = length = 0
    for place, text in _texts(value, path, 0):
        count, length = count + 1, length + len(text)
        if count > MOST_TEXTS or length > MOST_CHARACTERS:
            told = f"It says more than can be scanned; {place} and what follows were not read."
            yield finding("too_much_text", path, BLOCK, told)
            return
        yield from _of_text(text, place)


def _texts(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield every text within a value with its path, the keys of objects too."""
    if depth > NESTING:
        return
    match value:
        case str():
            yield path, value
        case dict():
            for key, item in value.items():
                yield f"{path}.{key}", str(key)
                yield from _texts(item, f"{path}.{key}", depth + 1)
        case list():
            for index, item in enumerate(value):
                yield from _texts(item, f"{path}[{index}]", depth + 1)


def _of_text(text: str, path: str) -> Iterator[JsonObject]:
    for cue in cues_in(text):
        yield finding(cue.code, path, cue.severity, f"{cue.told}: “{cue.quote}”.")
    if word := mixed_scripts(text):
        told = f"The word “{word}” mixes letters of several scripts, which hides what it says."
        yield finding("mixed_script", path, WARN, told)
    if len(text) > LONGEST_READ:
        told = f"It is {len(text):,} characters long; only the first {LONGEST_READ:,} were read."
        yield finding("too_much_text", path, BLOCK, told)
    elif len(text) > LONGEST_USUAL:
        told = f"It is {len(text):,} characters long, more than people read through."
        yield finding("long_text", path, INFO if ".examples" in path else WARN, told)
