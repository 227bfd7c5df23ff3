"""Traces by OpenTelemetry, where the OTEL_* variables ask for them; else they cost nothing.

Spans carry names, ids, counts and kinds of error: never arguments, outputs, messages or secrets.
The SDK is imported, and its exporter started, with the first span of a process, so that a worker's
child processes have exporters of their own.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from config.lib.logs import process_kind
from config.lib.types import JsonObject

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

FLUSH_MILLISECONDS = 3_000


class Span(Protocol):
    """What is told of something that takes time."""

    def set(self, **attributes: Any) -> None:
        """Add attributes; `__` in a name stands for a dot. None is left out."""

    def rename(self, name: str) -> None:
        """Give it the name that is known only now."""

    def failed(self, kind: str) -> None:
        """Say that it failed, and the kind of the error: a code or the name of a class."""

    def end(self) -> None:
        """End a span of `begun`."""


class _Nothing:
    """The span that is not kept."""

    def set(self, **attributes: Any) -> None: ...

    def rename(self, name: str) -> None: ...

    def failed(self, kind: str) -> None: ...

    def end(self) -> None: ...


NOTHING = _Nothing()
_OFF: AbstractContextManager[Span] = nullcontext(NOTHING)


class _Kept:
    """A span of OpenTelemetry."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **attributes: Any) -> None:
        self._span.set_attributes(_named(attributes))

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def failed(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_status(StatusCode.ERROR)
        self._span.set_attribute("error.type", kind)

    def end(self) -> None:
        self._span.end()


class _Tracing:
    """Whether this process traces, and with what."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.provider: TracerProvider | None = None
        self.tracer: Tracer | None = None
        self.on = False
        self.read()

    def read(self) -> None:
        """Read from the environment whether traces are wanted."""
        disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
        exporter = os.environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower()
        endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        endpoint = endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
        self.on = bool(endpoint) and not disabled and exporter == "otlp"

    def begin(self) -> "Tracer":
        """Return the tracer; the first caller sets it up."""
        if self.tracer is None:
            with self._lock:
                if self.tracer is None:
                    self._set_up()
        assert self.tracer is not None  # noqa: S101 -- for the type checker
        return self.tracer

    def _set_up(self) -> None:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        name = os.environ.get("OTEL_SERVICE_NAME", "").strip() or f"outfitter-{process_kind()}"
        self.provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(self.provider)  # the MCP SDK's own spans go there too
        self.tracer = self.provider.get_tracer("outfitter")


_tracing = _Tracing()


def is_on() -> bool:
    """Say whether this process traces."""
    return _tracing.on


def span(
    name: str, *, kind: str = "internal", told: Mapping[str, str] | None = None, **attributes: Any
) -> AbstractContextManager[Span]:
    """Trace what is done inside, as a part of the span around it.

    `kind` is internal, server, client, producer or consumer. `told` are headers with the
    `traceparent` of whoever asked for it. In the names of attributes `__` stands for a dot.
    """
    return _span(name, kind, told, attributes) if _tracing.on else _OFF


@contextmanager
def _span(
    name: str, kind: str, told: Mapping[str, str] | None, attributes: JsonObject
) -> Iterator[Span]:
    from opentelemetry import trace

    tracer = _tracing.begin()
    found = tracer.start_span(
        name,
        context=_told_by(told),
        kind=trace.SpanKind[kind.upper()],
        attributes=_named(attributes),
    )
    kept = _Kept(found)
    # an exception's words may repeat a secret: only its kind is told
    with trace.use_span(found, True, record_exception=False, set_status_on_exception=False):
        try:
            yield kept
        except Exception as error:
            kept.failed(getattr(error, "code", None) or type(error).__name__)
            raise


def begun(name: str, *, kind: str = "internal", **attributes: Any) -> Span:
    """Begin a span that is a part of the one around it, and around nothing; `end` it.

    It is for generators, which may be left in another context than they were entered in.
    """
    if not _tracing.on:
        return NOTHING
    from opentelemetry import trace

    kinds = trace.SpanKind[kind.upper()]
    return _Kept(_tracing.begin().start_span(name, kind=kinds, attributes=_named(attributes)))


def headers() -> dict[str, str]:
    """Return the headers that tell another process of the span around this: `traceparent`."""
    carrier: dict[str, str] = {}
    if _tracing.on:
        from opentelemetry.propagate import inject

        inject(carrier)
    return carrier


def here() -> "Context | None":
    """Return where in a trace this is, for `resumed` in another thread; None: nowhere."""
    if not _tracing.on:
        return None
    from opentelemetry.context import get_current

    return get_current() or None


@contextmanager
def resumed(context: "Context") -> Iterator[None]:
    """Go on inside where another thread was in its trace."""
    from opentelemetry.context import attach, detach

    token = attach(context)
    try:
        yield
    finally:
        detach(token)


def flush() -> None:
    """Send what was not sent yet; called where a process ends without more ado."""
    if _tracing.provider is not None:
        _tracing.provider.force_flush(FLUSH_MILLISECONDS)


def _told_by(told: Mapping[str, str] | None) -> "Context | None":
    if not told:
        return None
    from opentelemetry.propagate import extract

    return extract(dict(told))


def _named(attributes: JsonObject) -> JsonObject:
    return {
        name.replace("__", "."): value for name, value in attributes.items() if value is not None
    }
