"""What can end a turn before its answer."""

from http import HTTPStatus

from config.lib.errors import Conflict, DomainError


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
    default_hint = "What was done until then is kept. Send your message again to go on."


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
    """The model kept calling tools with arguments that are not JSON."""

    code = "malformed_calls"
    status = HTTPStatus.CONFLICT
    default_hint = "Send the message again, or choose another model for the agent."


class ModelError(DomainError):
    """The model did not answer."""

    code = "model_error"
    status = HTTPStatus.FAILED_DEPENDENCY
    default_hint = "Send the message again in a moment."


class ModelUnauthorised(ModelError):
    """The model's provider refused the API key, or none is set."""

    code = "model_unauthorised"
    default_hint = (
        "Set the provider's variable (such as OPENAI_API_KEY) for the server, then restart it."
    )


class ModelUnknown(ModelError):
    """The provider knows no such model."""

    code = "model_unknown"
    default_hint = (
        "Correct the agent's model or OUTFITTER_MODEL: “provider/model”, as LiteLLM has it."
    )


class ModelRateLimited(ModelError):
    """The model's provider takes no more requests at the moment."""

    code = "model_rate_limited"
    default_hint = "Wait a minute and send the message again, or raise the limit at the provider."


class ModelUnreachable(ModelError):
    """The model's provider cannot be reached."""

    code = "model_unreachable"
    default_hint = "Check the server's network and the provider's base address, then try again."


class ModelUnavailable(ModelError):
    """The model's provider has an error of its own."""

    code = "model_unavailable"


class ModelInterrupted(ModelError):
    """The model broke off in the middle of its answer."""

    code = "model_interrupted"
    default_hint = "What it said until then is kept. Send the message again."


class ContextTooLong(ModelError):
    """The conversation is too long for this model."""

    code = "context_too_long"
    default_hint = "Start a new conversation, or choose a model that reads more at once."


class ModelRefusedRequest(ModelError):
    """The model's provider did not accept the request."""

    code = "model_refused_request"
    default_hint = "Choose another model for the agent, or unlink the tool that is named."


class BenchRunning(Conflict):
    """The bench of this agent runs already."""

    code = "bench_running"
    default_hint = "Wait for its end, or stop it."
