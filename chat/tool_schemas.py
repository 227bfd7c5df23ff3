"""Tools in the shape in which models are told of them (OpenAI's chat completions)."""

from config.lib.types import JsonObject
from registry.finding import SEARCH_PARAMETERS, SEARCH_TOOLS, told_guidance
from registry.questions import ASK_USER
from registry.specs import ToolSpec

MOST_EXAMPLES = 4

EXAMPLES = "\nExamples: "
"""Stands between a tool's description and what it is asked for."""

SEARCH_TOOLS_SCHEMA: JsonObject = {
    "type": "function",
    "function": {
        "name": SEARCH_TOOLS,
        "description": (
            "Find more tools. For discovery only: use it when none of your tools can do what is "
            "needed. Say what is needed, or name what you look for. What it finds can be called "
            "right after."
        ),
        "parameters": SEARCH_PARAMETERS,
    },
}


def code_schema(spec: ToolSpec) -> JsonObject:
    """Return the running of code as a model is told of it.

    It does not name what code may call: each find would change it, and with it all that a
    provider has cached behind it.
    """
    schema = model_schema(spec)
    schema["function"]["description"] += (
        f" It can call each of your other tools by its name, and {ASK_USER}, but not "
        f"{SEARCH_TOOLS}. When a call waits for a person, the program is ended, and run again "
        "after the answer: let it depend on nothing but its calls, its clock and `random`."
    )
    return schema


def model_schema(spec: ToolSpec, *, guided: bool = False) -> JsonObject:
    """Return a tool as a model is told of it; examples show what it is asked for.

    With `guided`, for a tool that the system prompt does not name, when to use it stands here.
    """
    examples = spec.ai_agent.get("examples")
    description = spec.told
    if guided and (told := told_guidance(spec)):
        description = f"{description}\n{told}"
    if isinstance(examples, list) and examples:
        quoted = " ".join(f"“{example}”" for example in examples[:MOST_EXAMPLES])
        description = f"{description}{EXAMPLES}{quoted}"
    return {
        "type": "function",
        "function": {
            "name": spec.wire_name,
            "description": description,
            "parameters": dict(spec.input_schema) or {"type": "object", "properties": {}},
        },
    }
