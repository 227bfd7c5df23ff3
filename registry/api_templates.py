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

from jmespath.exceptions import JMESPathError
from jmespath.parser import Parser

from config.lib.types import JsonObject, JsonValue
from registry.builtins.json_bounds import BoundedInterpreter, weighed
from registry.errors import InvalidArguments, ToolInputRejected

EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
LONGEST_EXPRESSION = 500
HOST_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
"""What an argument may put into the name of a host."""

SLIPS = (
    JMESPathError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What the library raises for some well-formed expressions."""

_ARGUMENT = re.compile(r"\s*args\.([A-Za-z_][A-Za-z0-9_]*)\s*")
_MARK = re.compile("\ue000([0-9]+)\ue001")
_URL = re.compile(r"(?P<origin>https?://[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?")


class Given:
    """A call's arguments, asked by expressions that share one bound on time and memory."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._data = {"args": arguments}
        self._interpreter = BoundedInterpreter()

    def value(self, expression: str) -> JsonValue:
        """Return what an expression gives; None where there is nothing."""
        try:
            query = Parser().parse(expression.strip()).parsed
            return weighed(self._interpreter.visit(query, self._data))
        except ToolInputRejected:
            raise not_fitting(expression, "takes too long to work out, or gives too much") from None
        except SLIPS as error:
            raise not_fitting(expression, f"has no value here: {str(error)[:120]}") from None


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
        Parser().parse(expression.strip())
    except SLIPS:
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


def render_url(template: str, given: Given) -> tuple[str, str, str]:
    """Return origin, path and query; raise InvalidArguments when a value does not fit there."""
    parts = split_url(template)
    if parts is None:
        raise ValueError("not a URL template")

    def filled(text: str, escape: Callable[[str, str], str]) -> str:
        def value(match: re.Match[str]) -> str:
            expression = parts.expressions[int(match[1])]
            return escape(expression, _needed(expression, given))

        return _MARK.sub(value, text)

    path = "/".join(_segment(filled(part, _escaped)) for part in parts.path.split("/"))
    return filled(parts.origin, _host_part), path, filled(parts.query, _escaped)


def render_text(template: str, given: Given) -> str | Omitted:
    """Fill a text; OMITTED when it is one expression only and that gives nothing."""
    value = render_value(template, given)
    return value if isinstance(value, Omitted) else as_text(value)


def render_value(template: str, given: Given) -> Any:
    """Fill a text; one that is a single expression gives its value as it is, or OMITTED."""
    if match := EXPRESSION.fullmatch(template.strip()):
        value = given.value(match[1])
        return OMITTED if value is None else value
    return EXPRESSION.sub(lambda match: _needed(match[1], given), template)


def render_json(value: JsonValue, given: Given) -> JsonValue:
    """Fill the texts of a JSON value; a key whose value is OMITTED goes, an item becomes null."""
    match value:
        case str():
            return render_value(value, given)
        case dict():
            filled = {key: render_json(inner, given) for key, inner in value.items()}
            return {key: inner for key, inner in filled.items() if inner is not OMITTED}
        case list():
            items = [render_json(inner, given) for inner in value]
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


def _needed(expression: str, given: Given) -> str:
    value = given.value(expression)
    if value is None:
        raise not_fitting(expression, "is needed")
    return as_text(value)


def _escaped(expression: str, value: str) -> str:
    if not value:
        raise not_fitting(expression, "must not be empty")
    return quote(value, safe="")


def _host_part(expression: str, value: str) -> str:
    if not HOST_PART.fullmatch(value):
        raise not_fitting(expression, "cannot be part of the name of a host")
    return value


def steps_up(segment: str) -> bool:
    """Tell whether a path segment means this folder or the one above."""
    return segment.replace("%2E", ".").replace("%2e", ".") in (".", "..")


def _segment(segment: str) -> str:
    """Refuse what a server would read as “the folder above”, however it is put together."""
    if steps_up(segment):
        raise InvalidArguments(
            "The request cannot be made: an argument would change its path.",
            "Send a value other than “.” or “..”.",
        )
    return segment
