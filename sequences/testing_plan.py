"""What of a draft's definition a test needs, worked out on JSON that may be unfinished."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from config.lib.types import JsonObject, JsonValue
from registry.schemas import canonical_json
from sequences.mapping import EXPRESSION

ASIDE = frozenset(
    {"stepNumber", "title", "outputDisplaySuccess", "outputDisplayFailure", "retry"}
    | {"parallel", "continueOnFailure", "repeatable"}
)
"""Fields of a step that do not change what it gives."""

_NAME = re.compile(r"\bsteps\.\"?([A-Za-z_][A-Za-z0-9_]*)")


def item_key(key: str, index: int) -> str:
    """Return the key under which what one item of a loop gave is kept."""
    return f"{key[:48]}__item{index}"


def up_to(definition: JsonValue, last: str) -> JsonObject:
    """Return a copy of the definition that ends with the step of this key.

    What comes behind it is left out, and with it the output's mapping. An unknown key leaves all.
    """
    data = _copy(definition)
    keys = [step.get("key") for step in data["steps"]]
    if last and last in keys and keys.index(last) < len(keys) - 1:
        data["steps"] = data["steps"][: keys.index(last) + 1]
        data.pop("finalOutputMapping", None)
    return data


def step_digests(definition: JsonValue) -> dict[str, str]:
    """Return a digest for each step that has a key: of the step and of all whose output it reads.

    It changes with whatever may change what the step gives, but not with the input of the run.
    """
    by_name: dict[str, str] = {}
    digests: dict[str, str] = {}
    for step in _copy(definition)["steps"]:
        said = {name: value for name, value in step.items() if name not in ASIDE and value}
        read = sorted(names_read([step]))
        text = canonical_json({"step": said, "reads": [by_name.get(name, "") for name in read]})
        digest = hashlib.sha256(text.encode()).hexdigest()
        if name := step.get("storeOutputAs"):
            by_name[str(name)] = digest
        if key := step.get("key"):
            digests[str(key)] = digest
    return digests


def names_read(steps: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the outputs that these steps read."""
    return {name for step in steps for name in _within(step, "")}


def _within(value: JsonValue, key: str) -> set[str]:
    if isinstance(value, Mapping):
        found = set[str]()
        if value.get("source") == "previousStep" and isinstance(value.get("step"), str):
            found.add(value["step"])
        if value.get("source") == "expression":
            found |= set(_NAME.findall(str(value.get("value"))))
        for name, inner in value.items():
            found |= _within(inner, name)
        return found
    if isinstance(value, list):
        return {name for inner in value for name in _within(inner, key)}
    if isinstance(value, str):
        texts = [value] if key == "when" else EXPRESSION.findall(value)
        return {name for text in texts for name in _NAME.findall(text)}
    return set()


def _copy(definition: JsonValue) -> JsonObject:
    data: JsonObject = dict(definition) if isinstance(definition, Mapping) else {}
    steps = data.get("steps")
    listed = steps if isinstance(steps, list) else []
    data["steps"] = [_deep(step) for step in listed if isinstance(step, Mapping)]
    return data


def _deep(value: JsonValue) -> Any:
    if isinstance(value, Mapping):
        return {name: _deep(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_deep(inner) for inner in value]
    return value
