"""Say what sources, templates and conditions take from the run: inputs, outputs, items.

What cannot be read refers to nothing here; that it cannot be read, the checks tell.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sequences.conditions import MACROS, ConditionError, compile_condition
from sequences.definition import (
    Expression,
    InitialInput,
    InputSource,
    LoopItem,
    PreviousStep,
    Step,
    Template,
)
from sequences.mapping import ExpressionError, compile_expression, template_expressions


class Reference(NamedTuple):
    """What is read: the root (`initial`, `steps`, `item` …), the key below it and the path on.

    `guarded` says that there is an answer where it is not there: `a || 'b'`, `has(a)`.
    """

    root: str
    name: str | None = None
    path: str = ""
    guarded: bool = False


def source_references(source: InputSource) -> list[Reference]:
    """Return what a mapping source reads."""
    match source:
        case InitialInput():
            return [Reference("initial", source.key or None)]
        case PreviousStep():
            return [Reference("steps", source.step, source.path.strip())]
        case LoopItem():
            return [Reference("item", None, source.path.strip())]
        case Expression():
            return _of_expressions([source.value])
        case Template():
            return template_references(source.value)
        case _:
            return []


def template_references(template: str) -> list[Reference]:
    """Return what a template reads."""
    try:
        return _of_expressions(template_expressions(template))
    except ExpressionError:
        return []


def step_references(step: Step) -> Iterator[tuple[str, Reference]]:
    """Yield what a step needs before its call, each with the field that reads it."""
    if step.when:
        for reference in condition_references(step.when):
            yield "when", reference
    if step.for_each:
        for reference in source_references(step.for_each.items):
            yield "forEach.items", reference
    for name, source in step.input_mapping.items():
        for reference in source_references(source):
            yield f"inputMapping.{name}", reference
    if step.approval:
        for reference in template_references(step.approval.message):
            yield "approval.message", reference


def expression_references(node: Mapping[str, Any], *, guarded: bool = False) -> Iterator[Reference]:
    """Yield what a parsed expression takes from the context.

    Only what is evaluated against the context itself counts: the right side of a projection, a
    filter or a pipe works on items.
    """
    children = node["children"]
    match node["type"]:
        case "field":
            yield Reference(node["value"], guarded=guarded)
        case "subexpression" if children[0]["type"] == "field":
            keys = [key for child in children[1:] for key in _keys(child)]
            name, path = (keys[0], ".".join(keys[1:])) if keys else (None, "")
            yield Reference(children[0]["value"], name, path, guarded)
        case (
            "subexpression"
            | "index_expression"
            | "pipe"
            | "projection"
            | "filter_projection"
            | "value_projection"
            | "flatten"
        ):
            yield from expression_references(children[0], guarded=guarded)
        case "or_expression":
            yield from expression_references(children[0], guarded=True)
            yield from expression_references(children[1], guarded=guarded)
        case "expref":
            return
        case _:
            for child in children:
                if isinstance(child, Mapping):
                    yield from expression_references(child, guarded=guarded)


_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_CHAIN = re.compile(
    r"(?<![\w.])(?P<has>has\s*\(\s*)?(?P<root>steps|initial|item|index)\b"
    r"(?P<keys>(?:\s*\.\s*[A-Za-z_]\w*(?!\w|\s*\()|\s*\[\s*'\d+'\s*\])*)"
)
_KEY = re.compile(r"\.\s*([A-Za-z_]\w*)|\[\s*'(\d+)'\s*\]")
_LOCAL = re.compile(MACROS.pattern + r"\s*([A-Za-z_]\w*)\s*,")


def condition_references(condition: str) -> list[Reference]:
    """Return what a condition reads; `has(steps.a.b)` asks only whether there is a `b`."""
    texts: list[str] = []

    def taken_out(match: re.Match[str]) -> str:
        texts.append(match[0][1:-1])
        return f"'{len(texts) - 1}'"

    plain = _TEXT.sub(taken_out, condition)
    found = []
    for match in _CHAIN.finditer(plain):
        keys = [key or texts[int(number)] for key, number in _KEY.findall(match["keys"])]
        asked = bool(match["has"])
        name = keys[0] if keys else None
        found.append(Reference(match["root"], name, ".".join(keys[1:]), guarded=asked))
    asked_for = {(one.root, one.name) for one in found if one.guarded}
    return [one._replace(guarded=(one.root, one.name) in asked_for) for one in found]


def unknown_variables(condition: str, roots: Iterable[str]) -> list[str]:
    """Return the variables of a condition that are neither a root nor a macro's own."""
    try:
        used = compile_condition(condition).variables()
    except ConditionError:
        return []
    own = set(_LOCAL.findall(_TEXT.sub("''", condition)))
    return [name for name in used if name not in own | set(roots)]


def _of_expressions(expressions: Iterable[str]) -> list[Reference]:
    found: list[Reference] = []
    for text in expressions:
        try:
            found += expression_references(compile_expression(text).parsed)
        except ExpressionError:
            continue
    return found


def _keys(node: Mapping[str, Any]) -> list[str]:
    """Return the leftmost key of what follows a root: `a` in `a[0].b`."""
    if node["type"] == "field":
        return [str(node["value"])]
    first = next(iter(node["children"]), None)
    return _keys(first) if isinstance(first, Mapping) else []
