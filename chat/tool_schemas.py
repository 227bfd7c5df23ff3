"""Tools in the shape in which models are told of them (OpenAI's chat completions)."""

from config.lib.types import JsonObject
from registry.questions import ASK_USER
from registry.search.lookup import LONGEST_NAME, MOST_NAMES
from registry.search.need import LONGEST_QUERY, MOST_QUERIES
from registry.search.patterns import LONGEST as LONGEST_PATTERN
from registry.specs import ToolSpec

SEARCH_TOOLS = "search_tools"
"""The meta-tool by which a model finds what it was not given."""

LONGEST_NEED = 2_000

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
        "parameters": {
            "type": "object",
            "properties": {
                "need": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST_NEED,
                    "description": "What the tool must be able to do, in a sentence: "
                    "“a tool that converts HTML to Markdown”.",
                },
                "queries": {
                    "type": "array",
                    "maxItems": MOST_QUERIES,
                    "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_QUERY},
                    "description": "Further needs, one tool each: "
                    "[“a tool that reads a web page”, “a tool that sends e-mail”].",
                },
                "names": {
                    "type": "array",
                    "maxItems": MOST_NAMES,
                    "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
                    "description": "Names of tools, where you know them.",
                },
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST_PATTERN,
                    "description": "A regular expression that a name, title, package or "
                    "description matches, whatever the case: “sales|weather”, “^github_.*issue”.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10,
                    "default": 5,
                    "description": "How many tools to find at most.",
                },
            },
            "additionalProperties": False,
        },
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


def guidance(spec: ToolSpec) -> JsonObject:
    """Return when to use a tool: `{use?, limits?, needs?}`, `needs` the variables it wants."""
    told = {
        "use": spec.ai_agent.get("useCase"),
        "limits": spec.ai_agent.get("limitations"),
        "needs": ", ".join(variable.name for variable in spec.env if variable.required),
    }
    return {name: words for name, words in told.items() if words}


def told_guidance(spec: ToolSpec) -> str:
    """Return when to use a tool, in sentences, or nothing."""
    words = {"use": "Use it: {}", "limits": "Limits: {}", "needs": "Needs the variable {}."}
    return " ".join(words[name].format(told) for name, told in guidance(spec).items())
