"""The meta-tool by which a model asks its user something."""

from chat.answers import Answer
from chat.pauses import Pause, ask_of
from chat.tool_schemas import ASK_USER
from config.lib.types import JsonObject
from registry.errors import InvalidArguments, QuestionAsked
from registry.schemas import validate_arguments

MOST_OPTIONS = 8

ASK_USER_SCHEMA: JsonObject = {
    "type": "function",
    "function": {
        "name": ASK_USER,
        "description": (
            "Ask the user one question and wait for the answer. Use it only when you cannot go on "
            "without a fact or a decision that is the user's and that no tool can give you."
        ),
        "parameters": {
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
        },
    },
}


def asked(arguments: JsonObject) -> QuestionAsked:
    """Return the question that a call of `ask_user` puts; raises InvalidArguments."""
    checked = validate_arguments(ASK_USER_SCHEMA["function"]["parameters"], arguments)
    question, options = checked["question"], checked.get("options") or []
    return QuestionAsked(question, question=question, options=options, tool=ASK_USER)


def question_put(arguments: JsonObject) -> Answer | Pause:
    """Return what comes of a call of `ask_user`: the turn waits, or the model is corrected."""
    try:
        error = asked(arguments)
    except InvalidArguments as problem:
        return Answer.failed(problem, tool=ASK_USER)
    return Pause((ask_of(error.as_dict(), tool=ASK_USER, tool_id=None, title="Question"),))
