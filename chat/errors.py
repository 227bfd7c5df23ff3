"""What can end a turn before its answer."""

from http import HTTPStatus

from config.lib.errors import Conflict, DomainError
from registry.errors import Fault, ToolError


class TurnOpen(Conflict):
    """The agent is still answering the last message."""

    code = "turn_open"
    default_hint = "Wait for the answer, or stop it, then send the message again."


class QueueFull(Conflict):
    """Too many messages wait for the agent already."""

    code = "queue_full"
    default_hint = "Wait until some are sent, or remove one."


class TurnInterrupted(DomainError):
    """The server stopped while it was answering."""

    code = "turn_interrupted"
    status = HTTPStatus.CONFLICT
    default_hint = "What was done until then is kept. Continue the turn, or send another message."


class TurnBroken(DomainError):
    """Something went wrong inside Outfitter; the server's log says what."""

    code = "turn_broken"
    status = HTTPStatus.CONFLICT
    default_hint = "Send the message again; if it happens again, tell the operator."


class StepLimitReached(DomainError):
    """The agent used up its model calls without coming to an answer."""

    code = "step_limit"
    status = HTTPStatus.CONFLICT
    default_hint = "Ask for less at once, or name the tool to use."


class TooManyMalformedCalls(DomainError):
    """The model kept calling a tool with arguments that do not fit."""

    code = "malformed_calls"
    status = HTTPStatus.CONFLICT
    default_hint = "Let it go on, or choose another model for the agent."


class ModelLoops(DomainError):
    """The model kept making the same call with the same arguments."""

    code = "model_loops"
    status = HTTPStatus.CONFLICT
    default_hint = "Say in other words what is wanted, or choose another model for the agent."


class CallInterrupted(ToolError):
    """The call was interrupted, so its result is not known; it may have taken effect."""

    code = "call_interrupted"
    health = Fault.NONE
    status = HTTPStatus.CONFLICT
    actor = "owner"
    default_hint = "Find out what it did before you call the tool again."


class CallNotMade(ToolError):
    """The call was not made: the turn was stopped while the call waited for a person."""

    code = "call_not_made"
    health = Fault.NONE
    status = HTTPStatus.CONFLICT
    actor = "owner"
    phase = "approval"
    default_hint = "Call the tool again if it is still needed."


class CallRepeated(ToolError):
    """The very same call was made before, so it was not made again."""

    code = "call_repeated"
    health = Fault.NONE
    status = HTTPStatus.CONFLICT
    actor = "model"
    phase = "validate"
    default_hint = (
        "Do something else: use the result that it had, change the arguments, or tell the user "
        "what is missing."
    )


class RequestAnswered(Conflict):
    """This was answered already."""

    code = "request_answered"  # `extra.decision` is what was decided


class TurnNotContinuable(Conflict):
    """The turn cannot be continued."""

    code = "turn_not_continuable"
    default_hint = "Only the last turn can be continued, when it failed or was stopped."


class ModelError(DomainError):
    """The model did not answer."""

    code = "model_error"
    status = HTTPStatus.FAILED_DEPENDENCY
    default_hint = "Send the message again in a moment."
    passing = False
    """Whether the same model may answer when it is asked again in a moment."""
    another_may = False
    """Whether another model may do what this one did not."""
    retry_after: float | None = None
    """Seconds that the provider asks to wait, if it does."""


class ModelUnauthorised(ModelError):
    """The model's provider refused the API key, or none is set."""

    code = "model_unauthorised"
    another_may = True
    default_hint = (
        "Set the provider's variable (such as OPENAI_API_KEY) for the server, then restart it."
    )


class ModelUnknown(ModelError):
    """The provider knows no such model."""

    code = "model_unknown"
    another_may = True
    default_hint = (
        "Correct the agent's model or OUTFITTER_MODEL: “provider/model”, as LiteLLM has it."
    )


class ModelRateLimited(ModelError):
    """The model's provider takes no more requests at the moment."""

    code = "model_rate_limited"
    passing = True
    another_may = True
    default_hint = "Wait a minute and send the message again, or raise the limit at the provider."


class ModelUnreachable(ModelError):
    """The model's provider cannot be reached."""

    code = "model_unreachable"
    passing = True
    another_may = True
    default_hint = "Check the server's network and the provider's base address, then try again."


class ModelUnavailable(ModelError):
    """The model's provider has an error of its own."""

    code = "model_unavailable"
    passing = True
    another_may = True


class ModelInterrupted(ModelError):
    """The model broke off in the middle of its answer."""

    code = "model_interrupted"
    passing = True
    another_may = True
    default_hint = "What it said until then is kept. Send the message again."


class ModelTimeout(ModelError):
    """The model took too long to answer."""

    code = "model_timeout"
    passing = True
    another_may = True
    default_hint = "Try again, or choose a faster model for the agent."


class AnswerCutOff(ModelError):
    """The model reached the length that its provider allows for one answer."""

    code = "answer_cut_off"
    default_hint = "What it said until then is kept. Ask it to go on, or for less at once."


class AnswerFiltered(ModelError):
    """The provider's content filter held the answer back."""

    code = "answer_filtered"
    default_hint = "Put the message in other words, or choose another model for the agent."


class AnswerTooLong(ModelError):
    """The model's answer came to no end."""

    code = "answer_too_long"
    default_hint = "What it said until then is kept. Ask for less at once."


class AnswerEmpty(ModelError):
    """The model answered with nothing."""

    code = "answer_empty"
    passing = True
    another_may = True
    default_hint = "Send the message again, or choose another model for the agent."


class ContextTooLong(ModelError):
    """The conversation is too long for this model."""

    code = "context_too_long"
    default_hint = "Start a new conversation, or choose a model that reads more at once."


class ModelRefusedRequest(ModelError):
    """The model's provider did not accept the request."""

    code = "model_refused_request"
    default_hint = "Choose another model for the agent, or unlink the tool that is named."


class AnsweredElsewhere(Conflict):
    """What another agent waits for is answered in its own conversation."""

    code = "answered_elsewhere"  # `extra.conversation`, `extra.turn`
    default_hint = "Open that conversation and answer there; this one goes on by itself then."


class NothingToPromote(Conflict):
    """No call of a tool succeeded here, so there is nothing to make a sequence of."""

    code = "nothing_to_promote"
    default_hint = "Choose a turn in which the agent called tools."


class NotPromotable(Conflict):
    """The calls cannot be made into a sequence; the message says why."""

    code = "not_promotable"


class ToolsRefused(ModelRefusedRequest):
    """The model takes no tools; they are told to it in words instead."""

    code = "model_refused_tools"
    default_hint = "Set the agent's tool calls to “written in the text”, or choose another model."


class BenchRunning(Conflict):
    """The bench of this agent runs already."""

    code = "bench_running"
    default_hint = "Wait for its end, or stop it."


class NothingDrafted(DomainError):
    """No sequence could be made of these words."""

    code = "nothing_drafted"
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    default_hint = (
        "Say it in other words or in fewer steps, or begin with one of the tools that fit."
    )
