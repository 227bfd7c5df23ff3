"""Tell a tool's answer in a readable sentence with its actual values."""

import json
from itertools import islice

from config.lib.types import JsonObject, JsonValue

MOST_LINES = 12
LONGEST_VALUE = 1_500

_HEADLINES = ("result", "answer", "text", "total", "value", "count", "summary", "message")
"""Fields that hold the answer itself, where a tool has one of them; the others stand below."""


def told(name: str, answer: str) -> str:
    """Return what the tool `name` answered, as Markdown; `answer` is the JSON the model reads."""
    try:
        content = json.loads(answer)
    except ValueError:
        return f"`{name}` gave no answer."
    if content.get("status") != "succeeded":
        return _failure(name, content.get("error") or {})
    if content.get("truncated"):
        return f"`{name}` answered at length. It begins:\n\n```\n{content['preview'][:1000]}\n```"
    return _success(name, content.get("output"))


def _failure(name: str, error: JsonObject) -> str:
    words = str(error.get("message") or "It gave no reason.")
    hint = error.get("hint")
    return f"`{name}` could not do it: {words}" + (f" {hint}" if hint else "")


def _success(name: str, output: JsonValue) -> str:
    match output:
        case dict() if key := next((key for key in _HEADLINES if _is_plain(output.get(key))), ""):
            rest = {field: value for field, value in output.items() if field != key}
            headline = f"According to `{name}`, the {_words(key)} is {_value(output[key])}."
            return headline + _below(_lines(rest))
        case dict() if len(output) == 1:
            ((key, value),) = output.items()
            return f"According to `{name}`, the {_words(key)} is {_value(value)}."
        case dict() if output:
            return f"This is what `{name}` says:" + _below(_lines(output))
        case [{"stepNumber": _}, *_]:
            steps = [str(step.get("message") or step.get("tool")) for step in output]
            return f"`{name}` went through {len(steps)} steps:" + _below(steps)
        case list() if output:
            return f"`{name}` gave {len(output)} entries:" + _below([_value(v) for v in output])
        case None | {} | []:
            return f"`{name}` succeeded and gave nothing back."
        case _:
            return f"`{name}` says: {_value(output)}"


def _is_plain(value: JsonValue) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _lines(fields: JsonObject) -> list[str]:
    return [f"{_words(key)}: {_value(value)}" for key, value in fields.items()]


def _below(lines: list[str]) -> str:
    if not lines:
        return ""
    shown = "\n".join(f"- {line}" for line in islice(lines, MOST_LINES))
    more = f"\n- … and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return f"\n\n{shown}{more}"


def _words(key: str) -> str:
    return str(key).replace("_", " ")


def _value(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > LONGEST_VALUE:
        text = f"{text[:LONGEST_VALUE]}…"
    if "\n" in text:
        return f"\n\n```\n{text}\n```\n"
    if isinstance(value, dict | list):
        return f"`{text}`"
    return f"**{text}**" if text.strip() else "(empty)"
