"""The question that an agent, or a program of its, asks the person: `ask_user`."""

from config.lib.types import JsonObject, JsonSchema
from registry.errors import QuestionAsked
from registry.schemas import validate_arguments

ASK_USER = "ask_user"
"""The name under which it is asked."""

MOST_OPTIONS = 8

QUESTION: JsonSchema = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "minLength": 1,
            "maxLength": 2_000,
            "description": "The question, complete in itself.",
        },
        "options": {
            "type": "array",
            "maxItems": MOST_OPTIONS,
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
            "description": "Answers to choose from, where there are a few; the user may "
            "always answer in other words.",
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}
"""What `ask_user` takes."""


def question_asked(arguments: JsonObject) -> QuestionAsked:
    """Return the question that a call of `ask_user` puts; raises InvalidArguments."""
    checked = validate_arguments(QUESTION, arguments)
    question, options = checked["question"], checked.get("options") or []
    return QuestionAsked(question, question=question, options=options, tool=ASK_USER)
