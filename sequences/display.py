"""Render what a person reads about a step: `outputDisplaySuccess` and `outputDisplayFailure`.

A display text must never fail a run: what is unknown, or cannot be worked out, renders as nothing.
"""

from collections.abc import Mapping
from typing import Any

from config.lib.types import JsonValue
from sequences.definition import Step
from sequences.mapping import (
    EXPRESSION,
    Context,
    ExpressionError,
    MissingValueError,
    as_text,
    evaluate,
)

MAX_LENGTH = 2_000
"""Characters of a display text; the output itself is kept beside it in full."""


def display_success(
    step: Step, *, context: Context, inputs: Mapping[str, Any], result: JsonValue
) -> str:
    """Return the message of a step that succeeded; a plain sentence if its template is blank."""
    template = step.output_display_success.strip() or f"Step {step.step_number} succeeded."
    return _render(template, {**context, "input": inputs, "result": result})


def display_failure(
    step: Step, *, context: Context, inputs: Mapping[str, Any], error: Mapping[str, Any]
) -> str:
    """Return the message of a step that failed; `error` has `code` and `message`."""
    template = (
        step.output_display_failure.strip()
        or f"Step {step.step_number} failed: {{{{ error.message }}}}"
    )
    return _render(template, {**context, "input": inputs, "error": error})


def _render(template: str, data: Mapping[str, Any]) -> str:
    text = EXPRESSION.sub(lambda match: _insert(match[1], data), template)
    storable = text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    return storable if len(storable) <= MAX_LENGTH else storable[: MAX_LENGTH - 1] + "…"


def _insert(expression: str, data: Mapping[str, Any]) -> str:
    try:
        value = evaluate(expression, data)
        return "" if value is None else as_text(value)
    except (MissingValueError, ExpressionError, TypeError, ValueError, RecursionError):
        return ""
