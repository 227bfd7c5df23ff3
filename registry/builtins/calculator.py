"""Arithmetic."""

from config.lib.types import JsonObject
from registry.builtins import arithmetic, expression
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import produced, record, text

EXPRESSION_LIMIT = 1_000


def calculate(arguments: JsonObject) -> JsonObject:
    """Return the value of `expression` and the expression as it was read."""
    plain = expression.normalise(arguments["expression"])
    try:
        result = arithmetic.tidy(expression.evaluate(plain))
    except OverflowError:
        raise arithmetic.too_large() from None
    return {"result": result, "expression": plain}


TOOLS = (
    Builtin(
        name="calculator",
        title="Calculator",
        description=(
            "Evaluate an arithmetic expression exactly: add, subtract, multiply, divide, powers, "
            "remainders, percentages, roots, logarithms, rounding and trigonometry."
        ),
        category="math",
        input_schema=record(
            {
                "expression": text(
                    "The calculation. Operators + - * / // % ** (also × ÷ ^ and '15% of 80'), "
                    "parentheses, the constants pi, e and tau, and the functions "
                    f"{', '.join(expression.FUNCTIONS)}. Angles are in radians; round() takes "
                    "halves away from zero.",
                    limit=EXPRESSION_LIMIT,
                    at_least=1,
                    examples=["17 * 23", "(1,250 + 80) / 3", "round(sqrt(2), 3)"],
                ),
            }
        ),
        output_schema=record(
            {
                "result": produced("number", "The value; whole numbers are exact."),
                "expression": produced("string", "The expression as it was read."),
            }
        ),
        ai_agent=guidance(
            "When the user asks for any arithmetic, percentage, power, root or rounding. Prefer it "
            "to mental arithmetic, also for small sums.",
            "One expression without variables, equations, units or dates; real numbers only, up "
            "to about 1,000 digits.",
            "What is 17 times 23?",
            "How much is 15% of 240?",
            "Work out (1,250 + 80) / 3 to two decimals",
            "What's the square root of 144 plus 2 to the power of 10?",
        ),
        run=calculate,
    ),
)
