"""The meta-tool by which a model asks its user something."""

from chat.answers import Answer
from chat.pauses import Pause, ask_of
from config.lib.types import JsonObject
from registry.errors import InvalidArguments
from registry.questions import ASK_USER, QUESTION, question_asked

ASK_USER_SCHEMA: JsonObject = {
    "type": "function",
    "function": {
        "name": ASK_USER,
        "description": (
            "Ask the user one question and wait for the answer. Use it only when you cannot go on "
            "without a fact or a decision that is the user's and that no tool can give you."
        ),
        "parameters": QUESTION,
    },
}


def question_put(arguments: JsonObject) -> Answer | Pause:
    """Return what comes of a call of `ask_user`: the turn waits, or the model is corrected."""
    try:
        error = question_asked(arguments)
    except InvalidArguments as problem:
        return Answer.failed(problem, tool=ASK_USER)
    return Pause((ask_of(error.as_dict(), tool=ASK_USER, tool_id=None, title="Question"),))
