"""The tool that runs a program which calls tools: what is said of it to models and people."""

from config.lib.types import JsonObject

RUN_CODE = "run_code"
"""Its wire name, and its name in the package of the built-ins."""

TIMEOUT_SECONDS = 120

DESCRIPTION = (
    "Run a Python program that calls tools, and get back only what it comes to. Use it when one "
    "request needs several tool calls: a loop over items, a condition on a result, a calculation "
    'over many answers. Inside, `await tool_call("tool_name", argument=value)` calls a tool and '
    "returns its output; `await asyncio.gather(...)` runs calls side by side; a tool that fails "
    "raises `ToolCallError` (with `code`, `message`, `hint` and `tool`), which can be caught. End "
    "with an expression: its value is the result; what is printed comes back too. The standard "
    "library is there; files, network and other programs are not."
)

ROW: JsonObject = {
    "title": "Run code",
    "description": DESCRIPTION,
    "category": "code",
    "input_schema": {
        "type": "object",
        "properties": {
            "code": {
                "type": "string",
                "minLength": 1,
                "maxLength": 100_000,
                "description": "The Python program; its last expression is the result.",
            }
        },
        "required": ["code"],
        "additionalProperties": False,
    },
    "output_schema": {
        "type": "object",
        "properties": {
            "result": {"description": "The value of the last expression."},
            "result_is_repr_of": {
                "type": "string",
                "description": "The type of the value, where it is not JSON and `result` only "
                "shows how Python writes it.",
            },
            "printed": {"type": "string"},
            "calls": {"type": "integer", "description": "How often the program called a tool."},
        },
        "required": ["result", "printed", "calls"],
    },
    "ai_agent": {
        "useCase": "several tool calls that a loop or a condition ties together.",
        "limitations": "at most 500 tool calls, eight at once; it cannot run itself.",
        "examples": [],
    },
    "timeout_seconds": TIMEOUT_SECONDS,
}
"""The fields of its catalogue row."""
