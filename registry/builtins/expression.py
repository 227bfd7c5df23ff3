"""Read and evaluate an arithmetic expression.

A precedence-climbing parser that computes as it reads. It knows numbers, operators and the named
functions and nothing else, so there is no Python name or attribute to reach.
"""

import difflib
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from registry.builtins import arithmetic
from registry.builtins.arithmetic import Number
from registry.errors import ToolInputRejected

MAX_DEPTH = 60
MAX_LITERAL_EXPONENT = 308
MANY = 1_000

SPELLINGS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "π": "pi"})

TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:_[0-9]+)*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?
                  |\.[0-9]+(?:[eE][+-]?[0-9]+)?)
        |(?P<name>[A-Za-z][A-Za-z0-9_]*)
        |(?P<sign>%\s*of\b|\*\*|//|[-+*/%^(),!])
    )""",
    re.VERBOSE,
)
PLAIN_NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")

CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


@dataclass(frozen=True)
class Function:
    """A named function and how many arguments it takes."""

    call: Callable[..., Number]
    least: int = 1
    most: int = 1


def _real(function: Callable[[float], float]) -> Function:
    return Function(lambda value: function(float(value)))


FUNCTIONS: dict[str, Function] = {
    "abs": Function(abs),
    "sqrt": Function(arithmetic.root),
    "cbrt": _real(math.cbrt),
    "pow": Function(arithmetic.power, 2, 2),
    "exp": _real(math.exp),
    "ln": Function(arithmetic.logarithm),
    "log": Function(arithmetic.logarithm, 1, 2),
    "log2": Function(lambda value: arithmetic.logarithm(value, Fraction(2))),
    "log10": Function(lambda value: arithmetic.logarithm(value, Fraction(10))),
    "round": Function(arithmetic.rounded, 1, 2),
    "floor": Function(lambda value: Fraction(math.floor(value))),
    "ceil": Function(lambda value: Fraction(math.ceil(value))),
    "trunc": Function(lambda value: Fraction(math.trunc(value))),
    "factorial": Function(arithmetic.factorial),
    "min": Function(min, 2, MANY),
    "max": Function(max, 2, MANY),
    "sum": Function(lambda *values: sum(values, Fraction(0)), 1, MANY),
    "avg": Function(lambda *values: sum(values, Fraction(0)) / len(values), 1, MANY),
    "hypot": Function(lambda a, b: math.hypot(float(a), float(b)), 2, 2),
    "sin": Function(arithmetic.wave(math.sin)),
    "cos": Function(arithmetic.wave(math.cos)),
    "tan": Function(arithmetic.tangent),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "degrees": _real(math.degrees),
    "radians": _real(math.radians),
}

OPERATORS: dict[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "//": (2, lambda a, b: _fraction(a // b)),
    "%": (2, operator.mod),
    "% of": (2, lambda a, b: a * b / 100),
    "**": (4, arithmetic.power),
}
SIGN_PRECEDENCE = 3
POWER_PRECEDENCE = 4


def _fraction(value: float | Fraction) -> Number:
    # Fraction // Fraction is a plain int.
    return Fraction(value) if isinstance(value, int) else value


def evaluate(text: str) -> Number:
    """Return the value of the expression `text`; raises `ToolInputRejected`."""
    try:
        return _Reader(tokens(text)).read_all()
    except ZeroDivisionError:
        raise ToolInputRejected(
            "The expression divides by zero.", "Change the divisor so that it is not zero."
        ) from None
    except OverflowError:
        raise arithmetic.too_large() from None
    except ValueError:
        raise ToolInputRejected(
            "A function was given a number outside its domain.",
            "For example asin and acos take numbers from -1 to 1.",
        ) from None


def normalise(text: str) -> str:
    """Return `text` with typographic operators as plain ones and a trailing `=` removed."""
    plain = text.translate(SPELLINGS).strip().rstrip("=?").strip()
    return re.sub(r"(?<=[0-9)])\s+[xX]\s+(?=[0-9(])", " * ", plain).replace("^", "**")


@dataclass(frozen=True)
class Token:
    """A piece of the expression: `kind` is number, name, sign or end."""

    kind: str
    text: str
    position: int


def tokens(text: str) -> list[Token]:
    """Return the tokens of `text`, the last one of kind `end`.

    A comma between digit groups of three is a thousands separator, except inside the parentheses
    of a function, where commas separate arguments.
    """
    found: list[Token] = []
    in_call: list[bool] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _unexpected(text[position:].lstrip()[:1], position)
        kind, start = match.lastgroup, match.start(match.lastgroup)
        if kind == "number" and any(in_call) and "," in match[kind]:
            match = PLAIN_NUMBER.match(text, start) or match
        word = match[0].strip()
        if word == "(":
            in_call.append(bool(found) and found[-1].kind == "name")
        elif word == ")" and in_call:
            in_call.pop()
        found.append(Token(kind, "% of" if word.startswith("%") and len(word) > 1 else word, start))
        position = match.end()
    return [*found, Token("end", "the end", end)]


def _unexpected(what: str, position: int) -> ToolInputRejected:
    return ToolInputRejected(
        f"Cannot read the expression: unexpected {what!r} at character {position + 1}.",
        "Use numbers, + - * / // % **, parentheses and functions such as sqrt or round.",
    )


def _literal(token: Token) -> Number:
    digits = token.text.replace(",", "").replace("_", "").lower()
    exponent = digits.partition("e")[2]
    # Checked before the number is built: 1e999999999 would fill the memory.
    if exponent and (len(exponent) > len("-308") or abs(int(exponent)) > MAX_LITERAL_EXPONENT):
        raise arithmetic.too_large()
    return arithmetic.bounded(Fraction(digits))


@dataclass
class _Reader:
    """Walks the tokens once, from left to right."""

    queue: list[Token]
    at: int = 0
    depth: int = field(default=0)

    def read_all(self) -> Number:
        value = self.expression(0)
        if self.next.kind != "end":
            raise _unexpected(self.next.text, self.next.position)
        return value

    @property
    def next(self) -> Token:
        return self.queue[self.at]

    def take(self) -> Token:
        token = self.next
        self.at += 1
        return token

    def expect(self, sign: str) -> None:
        if self.next.text != sign:
            raise _unexpected(self.next.text, self.next.position)
        self.at += 1

    def expression(self, floor: int) -> Number:
        """Read operands and operators for as long as the operators bind tighter than `floor`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ToolInputRejected(
                f"The expression is nested more than {MAX_DEPTH} levels deep.",
                "Split it into several smaller calculations.",
            )
        value = self.operand()
        while self.next.kind == "sign":
            if self.next.text == "!":
                self.at += 1
                value = arithmetic.factorial(value)
                continue
            precedence, apply = OPERATORS.get(self.next.text, (0, arithmetic.power))
            if precedence <= floor:
                break
            self.at += 1
            # Powers associate to the right: 2**3**2 is 2**9.
            right = precedence - 1 if precedence == POWER_PRECEDENCE else precedence
            value = arithmetic.bounded(apply(value, self.expression(right)))
        self.depth -= 1
        return value

    def operand(self) -> Number:
        token = self.take()
        if token.kind == "number":
            return _literal(token)
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            value = self.expression(0)
            self.expect(")")
            return value
        if token.text in ("-", "+"):
            value = self.expression(SIGN_PRECEDENCE)
            return -value if token.text == "-" else value
        raise _unexpected(token.text, token.position)

    def named(self, token: Token) -> Number:
        name = token.text.lower()
        if self.next.text != "(" and name in CONSTANTS:
            return CONSTANTS[name]
        if name not in FUNCTIONS:
            raise _unknown(token.text)
        self.expect("(")
        arguments = [self.expression(0)]
        while self.next.text == ",":
            self.at += 1
            arguments.append(self.expression(0))
        self.expect(")")
        function = FUNCTIONS[name]
        if not function.least <= len(arguments) <= function.most:
            raise ToolInputRejected(
                f"{name}() was given {len(arguments)} argument(s).",
                f"It takes {function.least} to {function.most}. Inside a function commas separate "
                "arguments, so write 1234 rather than 1,234.",
            )
        return arithmetic.bounded(function.call(*arguments))


def _unknown(name: str) -> ToolInputRejected:
    known = [*FUNCTIONS, *CONSTANTS]
    near = difflib.get_close_matches(name.lower(), known, n=3)
    listed = ", ".join(near or known)
    return ToolInputRejected(
        f"The expression uses '{name}', which is not a function or constant here.",
        f"Did you mean {listed}?" if near else f"Available: {listed}.",
    )
