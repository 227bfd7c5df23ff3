"""What the metrics and the traces tell of the requests to models: counts, never contents."""

import time
from collections.abc import AsyncIterator

from prometheus_client import Counter, Histogram

from chat.errors import ModelError
from chat.llm.events import ModelEvent, Usage
from config.lib import meters, traces

REQUESTS = Counter(
    "outfitter_model_requests",
    "Requests to models that are over, by how they ended: succeeded, stopped or an error's code.",
    ("model", "outcome"),
    registry=meters.REGISTRY,
)
SECONDS = Histogram(
    "outfitter_model_request_seconds",
    "How long models took to answer, to the last word.",
    ("model",),
    buckets=meters.SECONDS,
    registry=meters.REGISTRY,
)
TOKENS = Counter(
    "outfitter_model_tokens",
    "Tokens that providers counted: input (cached among them), cached and output.",
    ("model", "kind"),
    registry=meters.REGISTRY,
)
COST = Counter(
    "outfitter_model_cost_dollars",
    "What they cost by LiteLLM's list, where it has the model.",
    ("model",),
    registry=meters.REGISTRY,
)


async def observed(model: str, events: AsyncIterator[ModelEvent]) -> AsyncIterator[ModelEvent]:
    """Pass on what a model answers, and count and trace the request."""
    provider, _, name = model.partition("/")
    span = traces.begun(
        f"chat {name or provider}",
        kind="client",
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider,
        gen_ai__request__model=name or provider,
    )
    started, outcome = time.monotonic(), "stopped"
    try:
        async for event in events:
            if isinstance(event, Usage):
                _count(model, event)
                span.set(
                    gen_ai__usage__input_tokens=event.input_tokens,
                    gen_ai__usage__output_tokens=event.output_tokens,
                )
            yield event
        outcome = "succeeded"
    except ModelError as error:
        outcome = error.code
        span.failed(outcome)
        raise
    finally:
        span.end()
        REQUESTS.labels(model, outcome).inc()
        SECONDS.labels(model).observe(time.monotonic() - started)


def _count(model: str, usage: Usage) -> None:
    TOKENS.labels(model, "input").inc(usage.input_tokens)
    TOKENS.labels(model, "cached").inc(usage.cached_tokens)
    TOKENS.labels(model, "output").inc(usage.output_tokens)
    if usage.cost is not None:
        COST.labels(model).inc(float(usage.cost))
