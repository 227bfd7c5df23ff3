"""Follow the new name of an input through the texts that read it.

Only what surely means the input is changed; where that cannot be said, the text stays as it is and
the check of the sequence tells that the input is not there.
"""

import json
import re

from jmespath.exceptions import JMESPathError
from jmespath.lexer import Lexer

from sequences.mapping import EXPRESSION, ExpressionError, compile_expression
from sequences.picking import jmespath_of
from sequences.references import expression_references

_CEL = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')   # a text: stays
    |(?<![\w.])initial(?:\.([A-Za-z_]\w*)|\[\s*("(?:\\.|[^"\\])*")\s*\])""",
    re.VERBOSE,
)
_NAME = re.compile(r'"(?:\\.|[^"\\])*"|\w+')
_NAMES = ("unquoted_identifier", "quoted_identifier")


def renamed_in_template(template: str, old: str, new: str) -> str:
    """Return the template with `initial.old` as `initial.new` in its expressions."""
    return EXPRESSION.sub(
        lambda match: f"{{{{{renamed_in_expression(match[1], old, new)}}}}}", template
    )


def renamed_in_expression(expression: str, old: str, new: str) -> str:
    """Return the JMESPath expression with the input's new name.

    It stays as it is where one of its `initial.old` is not the sequence's input: right of a
    projection or a filter `initial` is a key of an item.
    """
    try:
        parsed = compile_expression(expression).parsed
        tokens = list(Lexer().tokenize(expression))
    except (ExpressionError, JMESPathError):
        return expression
    meant = sum(
        (found.root, found.name) == ("initial", old) for found in expression_references(parsed)
    )
    places = [
        third["start"]
        for before, first, second, third in zip(
            [{"type": "start"}, *tokens], tokens, tokens[1:], tokens[2:], strict=False
        )
        if before["type"] != "dot"
        and (first["type"], first["value"]) == ("unquoted_identifier", "initial")
        and second["type"] == "dot"
        and third["type"] in _NAMES
        and third["value"] == old
    ]
    if not places or len(places) != meant:
        return expression
    for start in reversed(places):
        end = start + len(_NAME.match(expression[start:])[0])  # type: ignore[index]
        expression = expression[:start] + jmespath_of([new]) + expression[end:]
    return expression


def renamed_in_condition(condition: str, old: str, new: str) -> str:
    """Return the CEL condition with the input's new name."""

    def one(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[0]
        name = match[2] if match[2] is not None else json.loads(match[3])
        if name != old:
            return match[0]
        plain = re.fullmatch(r"[A-Za-z_]\w*", new, re.ASCII)
        return f"initial.{new}" if plain else f"initial[{json.dumps(new, ensure_ascii=False)}]"

    return _CEL.sub(one, condition)
