"""Check what sources, templates and conditions say against what is known at their place."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from jmespath.functions import Functions

from sequences.conditions import ConditionError, ConditionFailed, compile_condition, holds
from sequences.definition import (
    Expression,
    InitialInput,
    InputSource,
    LoopItem,
    PreviousStep,
    Template,
)
from sequences.mapping import ExpressionError, compile_expression, template_expressions
from sequences.references import (
    Reference,
    condition_references,
    expression_references,
    unknown_variables,
)

FUNCTIONS: Final[frozenset[str]] = frozenset(Functions.FUNCTION_TABLE)
_NAMES = (
    "size contains startsWith endsWith matches type dyn int uint double string bytes duration "
    "timestamp getFullYear getMonth getDayOfMonth getDayOfYear getDate getDayOfWeek getHours "
    "getMinutes getSeconds getMilliseconds"
)
CONDITION_FUNCTIONS: Final = frozenset(_NAMES.split())
_OPERATOR = re.compile(r"[^a-z]")
"""How the names of operators begin, such as `_&&_` and `@in`."""

ROOTS = ("initial", "steps")
LOOP_ROOTS = ("item", "index")


@dataclass(frozen=True)
class Known:
    """What may be read at one place: inputs, earlier outputs, and which are withheld, and why."""

    inputs: tuple[str, ...]
    outputs: Mapping[str, int] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)
    in_loop: bool = False

    @property
    def roots(self) -> tuple[str, ...]:
        """Return what an expression may start with."""
        return (*ROOTS, *LOOP_ROOTS) if self.in_loop else ROOTS

    def outside_loop(self) -> "Known":
        """Return what is known where the list of the loop itself is read."""
        return replace(self, in_loop=False)


def source_problems(source: InputSource, known: Known) -> Iterator[str]:
    """Yield what is wrong with where a value comes from."""
    match source:
        case InitialInput(key=str(key)) if key:
            yield from _initial_problems(key, known)
        case PreviousStep():
            yield from _output_problems(source.step, known)
            if source.path.strip():
                yield from _path_problems(source.path)
        case LoopItem():
            if not known.in_loop:
                yield _OUTSIDE_LOOP.format(root="item")
            if source.path.strip():
                yield from _path_problems(source.path)
        case Expression():
            yield from _expression_problems([source.value], "expression", known)
        case Template():
            yield from template_problems(source.value, known)


def template_problems(template: str, known: Known, more: Iterable[str] = ()) -> Iterator[str]:
    """Yield what is wrong with a template, which may start expressions with `more` roots too."""
    try:
        expressions = list(template_expressions(template))
    except ExpressionError as error:
        yield f"The template is not valid. {error}"
        return
    yield from _expression_problems(expressions, "template", known, more)


def condition_problems(condition: str, known: Known) -> Iterator[str]:
    """Yield what is wrong with a condition."""
    try:
        program = compile_condition(condition)
    except ConditionError as error:
        yield f"The condition is not valid. {error}"
        return
    for name in program.functions():
        if name not in CONDITION_FUNCTIONS and not _OPERATOR.match(name):
            names = ", ".join(sorted(CONDITION_FUNCTIONS))
            yield f"There is no function “{name}” in conditions. Use one of: {names}."
            return
    for name in unknown_variables(condition, known.roots):
        yield _root_problem(name, "condition", known.roots)
    references = condition_references(condition)
    yield from _reference_problems(references, "condition", known, known.roots)
    if not program.variables():
        try:
            holds(condition, {})
        except ConditionFailed as error:
            yield error.message


_OUTSIDE_LOOP = (
    "“{root}” is there only in a step that is repeated for each item of a list. "
    "Repeat this step, or map another value."
)


def _expression_problems(
    expressions: Iterable[str], what: str, known: Known, more: Iterable[str] = ()
) -> Iterator[str]:
    try:
        parsed = [compile_expression(text).parsed for text in expressions]
    except ExpressionError as error:
        yield f"The {what} is not valid. {error}"
        return
    for node in parsed:
        yield from _function_problems(node)
        references = expression_references(node)
        yield from _reference_problems(references, what, known, (*known.roots, *more))


def _reference_problems(
    references: Iterable[Reference], what: str, known: Known, roots: tuple[str, ...]
) -> Iterator[str]:
    for reference in dict.fromkeys(references):
        if reference.root not in roots:
            if what != "condition":  # CEL itself names its variables
                yield _root_problem(reference.root, what, roots)
        elif reference.root == "initial" and reference.name is not None:
            yield from _initial_problems(reference.name, known)
        elif reference.root == "steps" and reference.name is not None:
            yield from _output_problems(reference.name, known)


def _root_problem(root: str, what: str, roots: tuple[str, ...]) -> str:
    if root in LOOP_ROOTS:
        return _OUTSIDE_LOOP.format(root=root)
    an = "An expression" if what != "condition" else "A name in it"
    return f"“{root}” is not known in this {what}. {an} starts with one of: {', '.join(roots)}."


def _initial_problems(key: str, known: Known) -> Iterator[str]:
    if key not in known.inputs:
        names = ", ".join(known.inputs) or "none"
        yield (
            f"The sequence has no input “{key}”. Its inputs: {names}. "
            "Choose one, or add it to the input schema."
        )


def _output_problems(name: str, known: Known) -> Iterator[str]:
    if name in known.outputs:
        return
    if name in known.withheld:
        yield known.withheld[name]
    else:
        names = ", ".join(known.outputs) or "none"
        yield (
            f"No earlier step stores its output as “{name}”. Outputs to choose from: {names}. "
            "Fill in “Store output as” at that step, or choose another."
        )


def _path_problems(path: str) -> Iterator[str]:
    try:
        yield from _function_problems(compile_expression(path).parsed)
    except ExpressionError as error:
        yield f"The path is not valid. {error}"


def _function_problems(node: Mapping[str, Any]) -> Iterator[str]:
    if node["type"] == "function_expression" and node["value"] not in FUNCTIONS:
        yield f"There is no function “{node['value']}”. Use one of: {', '.join(sorted(FUNCTIONS))}."
    for child in node["children"]:
        if isinstance(child, Mapping):
            yield from _function_problems(child)
