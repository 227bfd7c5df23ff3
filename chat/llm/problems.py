"""Turn what LiteLLM raises into errors that say what to do, without the provider's secrets."""

import contextlib
import os
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import ModuleType
from typing import Any

from chat import errors
from config.lib.jsontext import clean_text
from config.lib.masking import mask

LONGEST_PROVIDER_MESSAGE = 300

_KEY_SHAPE = re.compile(r"\b(?:sk|pk|rk|key|api)[-_][A-Za-z0-9*_-]{6,}|Bearer\s+\S+", re.IGNORECASE)
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)S?$")

_NO_TOOLS = re.compile(
    r"(tool|function)[\w\s'\"`_-]{0,40}\b(not|n't|isn't|aren't|un)\s?(be\s)?(support|available)"
    r"|(not|n't|un)\s?support\w*[\w\s'\"`:_-]{0,40}(tool|function)"
    r"|support tool use|enable-auto-tool-choice",
    re.IGNORECASE,
)
"""How providers say that a model takes no tools."""

_FILTERED = re.compile(r"content[_ ](filter|management policy)|content policy", re.IGNORECASE)
"""How they say that a filter held a message back; LiteLLM knows only some of these."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context (window|length|size)[^.]{0,40}exceed"
    r"|exceed[^.]{0,60}(context|input token|token limit|token count)|(prompt|input) is too long"
    r"|too many (input )?tokens",
    re.IGNORECASE,
)
"""How they say that it is more than it reads at once; LiteLLM knows only some of these."""


def told(
    litellm: ModuleType, problem: Exception, model: str, *, began: bool, with_tools: bool = False
) -> errors.ModelError:
    """Return the ModelError for what LiteLLM raised.

    `began` tells that the answer was under way, `with_tools` that tools were sent along.
    """
    if began and not isinstance(problem, TimeoutError | litellm.exceptions.Timeout):
        kind: type[errors.ModelError] = errors.ModelInterrupted
    else:
        kind = _kind(litellm, problem, with_tools=with_tools)
    summary = (kind.__doc__ or "").rstrip(".")
    error = kind(f"{summary} ({model}).", model=model, provider_says=_provider_words(problem))
    error.retry_after = _retry_after(problem)
    return error


def _kind(litellm: ModuleType, problem: Exception, *, with_tools: bool) -> type[errors.ModelError]:
    known = litellm.exceptions
    words = str(problem)
    refusals = (known.BadRequestError, known.UnprocessableEntityError, known.NotFoundError)
    if isinstance(problem, refusals):
        if with_tools and _NO_TOOLS.search(words):
            return errors.ToolsRefused
        if _TOO_LONG.search(words):
            return errors.ContextTooLong
        if _FILTERED.search(words):
            return errors.AnswerFiltered
    # some refusals come without a class of their own
    status = getattr(problem, "status_code", None)
    if status == HTTPStatus.FORBIDDEN:
        return errors.ModelUnauthorised
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return errors.ContextTooLong
    if "LLM Provider NOT provided" in words:
        return errors.ModelUnknown
    if "Connection error" in words:
        return errors.ModelUnreachable
    table: tuple[tuple[Any, type[errors.ModelError]], ...] = (
        (known.ContextWindowExceededError, errors.ContextTooLong),
        (known.ContentPolicyViolationError, errors.AnswerFiltered),
        ((known.AuthenticationError, known.PermissionDeniedError), errors.ModelUnauthorised),
        ((known.NotFoundError, known.LiteLLMUnknownProvider), errors.ModelUnknown),
        (known.RateLimitError, errors.ModelRateLimited),
        ((known.Timeout, TimeoutError), errors.ModelTimeout),
        (known.APIConnectionError, errors.ModelUnreachable),
        (known.MidStreamFallbackError, errors.ModelInterrupted),
        (refusals, errors.ModelRefusedRequest),
    )
    return next(
        (ours for theirs, ours in table if isinstance(problem, theirs)), errors.ModelUnavailable
    )


def _retry_after(problem: Exception) -> float | None:
    """Return the seconds that the provider asks to wait, if it does."""
    headers = getattr(problem, "litellm_response_headers", None)
    if headers is None:
        headers = getattr(getattr(problem, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if not value:
        return None
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    return None


def _provider_words(problem: Exception) -> str:
    """Return the start of the provider's own message, with all that looks like a key masked."""
    words = clean_text(getattr(problem, "message", "") or str(problem))
    secrets = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    lines = _KEY_SHAPE.sub("•••", str(mask(words, secrets))).strip().splitlines() or [""]
    return lines[0][:LONGEST_PROVIDER_MESSAGE]
