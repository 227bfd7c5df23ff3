"""What the log and the traces tell of the calls of tools."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from config.lib import traces
from config.lib.logs import hiding, noted
from registry.context import CallContext
from registry.specs import ToolSpec


@contextmanager
def observed_call(
    spec: ToolSpec, context: CallContext, invocation_id: UUID
) -> Iterator[traces.Span]:
    """Mark the lines that are logged during a call, and trace it: its names, never its contents.

    What is hidden from lines inside is hidden no more behind it.
    """
    with (
        noted(invocation_id=invocation_id, user_id=context.user.pk, step_id=context.run_step_id),
        hiding(),
        traces.span(f"execute_tool {spec.wire_name}") as span,
    ):
        if traces.is_on():
            span.set(
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name=spec.wire_name,
                gen_ai__tool__type="function",
                gen_ai__tool__call__id=context.call_id or None,
                outfitter__tool__version=spec.version,
                outfitter__caller=context.caller.value,
                outfitter__invocation__id=str(invocation_id),
                **_around(context),
            )
        yield span


def _around(context: CallContext) -> dict[str, str]:
    around = {"turn": context.turn_id, "run": context.run_id, "step": context.run_step_id}
    return {f"outfitter__{name}__id": str(number) for name, number in around.items() if number}
