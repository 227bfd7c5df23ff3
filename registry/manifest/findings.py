"""What is wrong with a manifest: told by JSON path, each with what to write instead."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from config.lib.types import JsonObject

ShapeType = TypeVar("ShapeType", bound=BaseModel)
Severity = Literal["error", "warning", "advice"]

MOST_PROBLEMS = 500
LONGEST_QUOTE = 60
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]{0,60}")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing to say of a manifest.

    An *error* is left out or read as something else; a *warning* is read, but probably not meant
    so; *advice* makes the tools easier to find and to use.
    """

    path: str
    message: str
    severity: Severity = "error"

    def as_dict(self) -> JsonObject:
        """Return `{path, message}`."""
        return {"path": self.path, "message": self.message}


@dataclass
class Findings:
    """Collects what is wrong while a manifest is read."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, path: str, message: str, severity: Severity = "error") -> None:
        """Note a problem; beyond `MOST_PROBLEMS` none is noted."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(path=path, message=message, severity=severity))
        elif len(self.problems) == MOST_PROBLEMS:
            told = f"There are more problems than these {MOST_PROBLEMS}; mend them first."
            self.problems.append(Problem(path="", message=told))

    def missing(self, path: str, write: str, severity: Severity = "error") -> None:
        """Note that something is missing, unless what stands in its place was told already."""
        if not any(item.path == path for item in self.problems):
            self.add(path, f"It is missing. Write {write}.", severity)

    def warn(self, path: str, message: str) -> None:
        """Note what is probably not meant so."""
        self.add(path, message, "warning")

    def advise(self, path: str, message: str) -> None:
        """Note what would make the tools easier to find and to use."""
        self.add(path, message, "advice")

    def fit(self, shape: type[ShapeType], data: JsonObject, path: str) -> ShapeType:
        """Fit an object into a shape; what does not fit is told and left out."""
        try:
            fitted = shape.model_validate(data)
        except ValidationError as error:
            wrong = {str(item["loc"][0]): item["loc"] for item in error.errors()}
            for key, loc in wrong.items():
                self._misfit(shape, data, path, key, loc)
            fitted = shape.model_validate({key: data[key] for key in data if key not in wrong})
        self._unknown(shape, fitted.model_extra or {}, path)
        return fitted

    def _misfit(
        self, shape: type[BaseModel], data: JsonObject, path: str, key: str, loc: tuple[Any, ...]
    ) -> None:
        """Tell what stands where something else belongs, down in a list or map where it does."""
        value, where = data[key], inside(path, key)
        for step in loc[1:]:
            if isinstance(value, list) and isinstance(step, int) and step < len(value):
                value, where = value[step], inside(where, step)
            elif isinstance(value, dict) and step in value:
                value, where = value[step], inside(where, str(step))
        named = {item.alias or name: item for name, item in shape.model_fields.items()}
        self.add(where, f"It is {kind_of(value)}. Write {named[key].description}.")

    def _unknown(self, shape: type[BaseModel], extra: Iterable[str], path: str) -> None:
        known = [item.alias or name for name, item in shape.model_fields.items()]
        for key in extra:
            if len(self.problems) > MOST_PROBLEMS:
                return
            told = f"“{quoted(key)}” is not a field of a manifest; it is kept, but not used."
            self.warn(inside(path, key), told + meant(key, known))


def meant(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean “…”?` where one of the known words is near, else nothing."""
    near = get_close_matches(word[:LONGEST_QUOTE], list(known), n=1, cutoff=0.7)
    return f" Did you mean “{near[0]}”?" if near else ""


def inside(path: str, key: str | int) -> str:
    """Return the JSON path of a key or an index inside of another path."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        escaped = key[:LONGEST_QUOTE].replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{key}" if path else key


def quoted(text: str) -> str:
    """Return a text short enough to stand in a message."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def kind_of(value: Any) -> str:
    """Return what a JSON value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
    return "an object"
