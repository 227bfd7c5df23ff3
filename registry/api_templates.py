"""Texts with `{{ args.name }}` in them, filled from a call's arguments.

An expression is JMESPath over `{"args": …}`. What it gives is escaped for the place where it
stands, so that an argument can never become more than one value: no other host, no further path
segment, no second header.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import jmespath
from jmespath.exceptions import JMESPathError

from config.lib.types import JsonObject, JsonValue
from registry.errors import InvalidArguments

EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
LONGEST_EXPRESSION = 500
HOST_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
"""What an argument may put into the name of a host."""

_ARGUMENT = re.compile(r"\s*args\.([A-Za-z_][A-Za-z0-9_]*)\s*")
_MARK = re.compile("\ue000([0-9]+)\ue001")
_URL = re.compile(r"(?P<origin>https?://[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?")

Arguments = Mapping[str, Any]


class Omitted:
    """What an optional argument that was not given leaves behind: nothing."""


OMITTED = Omitted()


class UrlParts(NamedTuple):
    """A URL template in three parts; each expression stands in it as a numbered mark."""

    origin: str
    path: str
    query: str
    expressions: list[str]

    @property
    def host_expressions(self) -> list[str]:
        """Return the expressions that decide which host is asked."""
        return [self.expressions[int(number)] for number in _MARK.findall(self.origin)]


def template_problems(text: str) -> Iterator[str]:
    """Yield, in plain words, what is wrong with a template."""
    if "\ue000" in text or "\ue001" in text:
        yield "It holds characters that are kept for internal use."
    if "{{" in EXPRESSION.sub("", text):
        yield "An expression is opened with {{ but not closed with }}."
    for match in EXPRESSION.finditer(text):
        yield from expression_problems(match[1])


def expression_problems(expression: str) -> Iterator[str]:
    """Yield what is wrong with one expression over the arguments."""
    if not expression.strip():
        yield "An expression is empty. Write {{ args.name }}."
    elif problem := path_problem(expression):
        yield problem
    elif "args" not in expression:
        yield f"“{expression.strip()}” does not name an argument. Write args.name."


def path_problem(expression: str) -> str:
    """Say what is wrong with a JMESPath expression; empty when nothing is."""
    if len(expression) > LONGEST_EXPRESSION:
        return f"An expression is longer than {LONGEST_EXPRESSION} characters."
    try:
        jmespath.compile(expression.strip())
    except (JMESPathError, RecursionError):
        return f"“{expression.strip()[:80]}” cannot be read as JMESPath."
    return ""


def plain_argument(expression: str) -> str:
    """Return the name in `args.name`, or "" for any other expression."""
    match = _ARGUMENT.fullmatch(expression)
    return match[1] if match else ""


def expressions_in(value: JsonValue) -> Iterator[str]:
    """Yield every expression in the texts of a JSON value."""
    match value:
        case str():
            yield from (match[1] for match in EXPRESSION.finditer(value))
        case dict():
            for inner in value.values():
                yield from expressions_in(inner)
        case list() | tuple():
            for inner in value:
                yield from expressions_in(inner)


def split_url(template: str) -> UrlParts | None:
    """Take a URL template apart; None when it is not http(s)://host/path?query."""
    expressions: list[str] = []

    def mark(match: re.Match[str]) -> str:
        expressions.append(match[1])
        return f"\ue000{len(expressions) - 1}\ue001"

    match = _URL.fullmatch(EXPRESSION.sub(mark, template.strip()))
    if match is None:
        return None
    return UrlParts(match["origin"], match["path"] or "/", match["query"] or "", expressions)


def render_url(template: str, arguments: Arguments) -> tuple[str, str, str]:
    """Return origin, path and query; raise InvalidArguments when a value does not fit there."""
    parts = split_url(template)
    if parts is None:
        raise ValueError("not a URL template")

    def filled(text: str, escape: Callable[[str, str], str]) -> str:
        def value(match: re.Match[str]) -> str:
            expression = parts.expressions[int(match[1])]
            return escape(expression, _needed(expression, arguments))

        return _MARK.sub(value, text)

    path = "/".join(_segment(filled(part, _escaped)) for part in parts.path.split("/"))
    return filled(parts.origin, _host_part), path, filled(parts.query, _escaped)


def render_text(template: str, arguments: Arguments) -> str | Omitted:
    """Fill a text; OMITTED when it is one expression only and that gives nothing."""
    value = render_value(template, arguments)
    return value if isinstance(value, Omitted) else as_text(value)


def render_value(template: str, arguments: Arguments) -> Any:
    """Fill a text; one that is a single expression gives its value as it is, or OMITTED."""
    if match := EXPRESSION.fullmatch(template.strip()):
        value = _evaluate(match[1], arguments)
        return OMITTED if value is None else value
    return EXPRESSION.sub(lambda match: _needed(match[1], arguments), template)


def render_json(value: JsonValue, arguments: Arguments) -> JsonValue:
    """Fill the texts of a JSON value; a key whose value is OMITTED goes, an item becomes null."""
    match value:
        case str():
            return render_value(value, arguments)
        case dict():
            filled = {key: render_json(inner, arguments) for key, inner in value.items()}
            return {key: inner for key, inner in filled.items() if inner is not OMITTED}
        case list():
            items = [render_json(inner, arguments) for inner in value]
            return [None if item is OMITTED else item for item in items]
        case _:
            return value


def as_text(value: JsonValue) -> str:
    """Return a value as it stands in a text: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def not_fitting(expression: str, why: str) -> InvalidArguments:
    """Return the refusal of an argument that the request cannot carry."""
    name = plain_argument(expression)
    told = f"“{name}”" if name else f"“{expression.strip()}”"
    problems: list[JsonObject] = [{"path": f"$.{name}" if name else "$", "message": why}]
    return InvalidArguments(f"The request cannot be made: {told} {why}.", problems=problems)


def _needed(expression: str, arguments: Arguments) -> str:
    value = _evaluate(expression, arguments)
    if value is None:
        raise not_fitting(expression, "is needed")
    return as_text(value)


def _evaluate(expression: str, arguments: Arguments) -> JsonValue:
    try:
        return jmespath.search(expression.strip(), {"args": arguments})
    except (JMESPathError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise not_fitting(expression, f"has no value here: {str(error)[:120]}") from None


def _escaped(expression: str, value: str) -> str:
    if not value:
        raise not_fitting(expression, "must not be empty")
    return quote(value, safe="")


def _host_part(expression: str, value: str) -> str:
    if not HOST_PART.fullmatch(value):
        raise not_fitting(expression, "cannot be part of the name of a host")
    return value


def _segment(segment: str) -> str:
    """Refuse what a server would read as “the folder above”, however it is put together."""
    if segment.replace("%2E", ".").replace("%2e", ".") in (".", ".."):
        raise InvalidArguments(
            "The request cannot be made: an argument would change its path.",
            "Send a value other than “.” or “..”.",
        )
    return segment
