"""Draft a sequence from words without understanding them: one step for each part of a sentence.

Each part gets the tool that shares most words with it, and works on what the step before gave. What
no tool fits is said to be left open.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from chat.demo.arguments import arguments_for
from chat.demo.choice import FIT, Lexicon, clauses
from config.lib.types import JsonObject, JsonSchema
from registry.search.tokens import query_terms

TOOLS_FOLLOW = "The tools, as JSON:\n"
"""Stands in the system message before the tools that a sequence may be made of."""

LONGEST_NAME = 60
_QUOTES = "\"'“”`«»"

UNDERSTOOD = (
    "The demo model matched words with tools: one step for each part of what you wrote, each "
    "working on what the step before it gave. It understands no language; look through each step."
)


def tools_told(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the tools that a system message tells of: name, description, parameters, returns."""
    for message in messages:
        _, marker, told = str(message.get("content") or "").partition(TOOLS_FOLLOW)
        if message["role"] == "system" and marker:
            try:
                found = json.loads(told)
            except ValueError:
                return []
            return [tool for tool in found if isinstance(tool, dict)]
    return []


def proposal(said: str, tools: Sequence[JsonObject]) -> JsonObject | None:
    """Return a proposed sequence in the form that a model fills in; None where nothing fits."""
    lexicon = Lexicon(tools)
    drafted = _Drafted()
    for part in clauses(said, at_commas=True):
        tool, fit = lexicon.best(part)
        if tool is not None and fit >= FIT:
            drafted.add(part, tool)
        elif query_terms(part):
            drafted.left_open.append(f"No tool fits “{part.strip()[:100]}”.")
    if not drafted.steps:
        return None
    name = " ".join(said.split())
    return {
        "name": name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…",
        "description": said.strip()[:1000],
        "inputs": [{"name": n, **field} for n, field in drafted.inputs.items()],
        "steps": drafted.steps,
        "made_of_it": UNDERSTOOD,
        "left_open": drafted.left_open,
    }


class _Drafted:
    """The steps as they are found, and what the last one gives."""

    def __init__(self) -> None:
        self.steps: list[JsonObject] = []
        self.inputs: dict[str, JsonObject] = {}
        self.left_open: list[str] = []
        self._last: tuple[str, JsonSchema] | None = None

    def add(self, part: str, tool: JsonObject) -> None:
        """Add a step that calls a tool on what there is."""
        schema: JsonSchema = tool["parameters"]
        properties: dict[str, Any] = schema.get("properties") or {}
        required = [name for name in schema.get("required") or () if name in properties]
        said = arguments_for(schema, part, tool["name"], tool.get("description", ""))
        main = next((name for name in required if _is_open_text(properties[name])), None)
        inputs: JsonObject = {}
        for name, spec in properties.items():
            value = said.get(name)
            if name == main and not (isinstance(value, str) and _is_quoted(value, part)):
                inputs[name] = self._worked_on(name, spec)
            elif value is not None and not (name == main and value == ""):
                inputs[name] = {"value": value}
            elif name in required and "default" not in spec:
                inputs[name] = {"input": self._input(name, spec)}
        name = self._free(tool["name"])
        self.steps.append(
            {
                "name": name,
                "title": part.strip()[:1].upper() + part.strip()[1:100],
                "tool": tool["name"],
                "inputs": inputs,
            }
        )
        self._last = name, tool.get("returns") or {}

    def _worked_on(self, name: str, spec: JsonSchema) -> JsonObject:
        """Return where a step's main input comes from: the step before, else the person."""
        if self._last is None:
            return {"input": self._input(name, spec)}
        step, returns = self._last
        given: dict[str, Any] = returns.get("properties") or {}
        texts = [key for key, said in given.items() if said.get("type") == "string"]
        if texts:
            return {"step": step, "path": "text" if "text" in texts else texts[0]}
        return {"expression": f"to_string(steps.{step})"}

    def _input(self, name: str, spec: JsonSchema) -> str:
        known = self.inputs.get(name)
        kind = spec.get("type")
        field: JsonObject = {"type": kind if isinstance(kind, str) else "string"}
        if told := spec.get("description"):
            field["description"] = told
        if known is not None and known["type"] != field["type"]:
            name = f"{name}_{len(self.inputs) + 1}"
        self.inputs.setdefault(name, field)
        return name

    def _free(self, wanted: str) -> str:
        plain = re.sub(r"\W", "_", wanted)[:60]
        taken = {step["name"] for step in self.steps}
        number, name = 1, plain
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        return name


def _is_open_text(spec: JsonSchema) -> bool:
    return spec.get("type") == "string" and "enum" not in spec


def _is_quoted(value: str, part: str) -> bool:
    """Tell whether a text stands in the message in quotes, as something to be taken literally."""
    place = part.find(value)
    return place > 0 and part[place - 1] in _QUOTES
