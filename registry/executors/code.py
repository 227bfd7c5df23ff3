"""Run a program that a model wrote, in the sandbox, and the tools it calls, through the door."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connections

from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.errors import ApprovalDenied, CodeFailed, Fault, ToolError, ToolUnavailable
from registry.executors.base import Output, give_back_connection
from registry.executors.pausing import PausableCall, PausableCalls, told_again
from registry.models.tool import ToolKind
from registry.questions import ASK_USER
from registry.replay import RecordedCall, inner_call_id
from registry.results import Failed, ToolResult
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Begin, CodeOutput, InnerCall, NotTold, Told
from registry.specs import ToolSpec

MOST_PRINTED = 20_000
"""Characters of what a program printed that its output carries."""

MOST_LISTED = 100
"""Calls that are listed beside the output; all of them stand on the invocation's page."""

NOT_CALLABLE = frozenset({"execute", "print", "ready", "cancel"})
"""Names that the protocol between a program and its host uses itself."""


class CodeExecutor:
    """Each call that a program makes is an invocation of its own, checked like any other."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Run the program; the output is `{result, printed, calls}`.

        `details` is `{invocation, calls: [{number, tool, status, message, duration_ms,
        invocation, replayed?}]}`, in a failure too. With `context.replay`, the program may be
        paused: see `registry.replay`.
        """
        pausable = None if context.replay is None else PausableCalls(context.replay, context.cancel)
        offered = callable_tools(context)
        log = CallLog(context, offered, pausable)
        tools = {name: log.calling(tool) for name, tool in offered.items()}
        if pausable is not None:
            tools.setdefault(ASK_USER, log.asking)
        printed: list[str] = []
        ended: ToolError | None = None
        give_back_connection()
        try:
            answer = sandbox().execute(
                arguments["code"],
                tools,
                timeout_seconds=spec.timeout_seconds,
                call_seconds=settings.CODE_CALL_SECONDS,
                cancel=pausable.cancel if pausable else context.cancel,
                on_print=printed.append,
                take=log.take if pausable else None,
                begin=_begin(context),
            )
        except ToolError as error:
            ended = error
        if problem := pausable.verdict(ended) if pausable else ended:
            raise _failure(problem, log, "".join(printed)) from ended
        return Output(value=_output(answer), details=log.details())


def callable_tools(context: CallContext) -> Mapping[str, ToolSpec]:
    """Return what a program may call: the caller's tools, but not the running of programs."""
    return {
        name: spec
        for name, spec in context.tools().items()
        if spec.kind != ToolKind.CODE and name not in NOT_CALLABLE
    }


class CallLog:
    """The calls of one program as they happen, for whoever watches and for the record."""

    def __init__(
        self,
        context: CallContext,
        offered: Mapping[str, ToolSpec],
        pausable: PausableCalls | None = None,
    ) -> None:
        self._context = context
        self._offered = offered
        self._pausable = pausable
        self._lock = threading.Lock()
        self._calls: list[JsonObject] = []

    def details(self) -> JsonObject:
        """Return what is told beside the output."""
        return {
            "invocation": str(self._context.invocation_id),
            "calls": [dict(call) for call in self._calls[:MOST_LISTED]],
        }

    @property
    def count(self) -> int:
        """How many calls were made."""
        return len(self._calls)

    def calling(self, spec: ToolSpec) -> InnerCall:
        """Return the function that calls one tool, in a thread that holds nothing afterwards."""

        def call(arguments: JsonObject, cancel: threading.Event) -> JsonValue:
            try:
                return self._call(spec, arguments, cancel)
            finally:
                connections.close_all()

        return call

    def asking(self, _arguments: JsonObject, _cancel: threading.Event) -> JsonValue:
        """Ask the person; only `take` knows which of the program's questions it is."""
        raise ToolUnavailable("Nobody can be asked here.")

    def take(self, name: str, arguments: JsonObject) -> InnerCall:
        """Return what runs a call of a program that can be paused, in the order of its calls."""
        assert self._pausable is not None  # noqa: S101 - passed on for such programs only
        spec = self._offered.get(name)
        asked = self._pausable.asked(name, arguments)

        def call(arguments: JsonObject, cancel: threading.Event) -> JsonValue | Told:
            note = self._begun(name)
            try:
                if recorded := asked.replayed():
                    self._replayed(note, recorded)
                    return told_again(recorded)
                if spec is None:
                    return self._answered(note, asked, arguments)
                return self._called(note, spec, arguments, asked, cancel)
            except NotTold:
                self._ended(note, "waiting", f"{name} waits for a person")
                raise
            finally:
                asked.let_go()
                connections.close_all()

        return call

    def _answered(self, note: JsonObject, asked: PausableCall, arguments: JsonObject) -> JsonValue:
        try:
            answer = asked.ask(arguments)
        except ToolError as error:
            self._ended(note, "failed", error.message)
            raise
        self._ended(note, "succeeded", asked.tool)
        return answer

    def _called(
        self,
        note: JsonObject,
        spec: ToolSpec,
        arguments: JsonObject,
        asked: PausableCall,
        cancel: threading.Event,
    ) -> JsonValue | Told:
        call_id = inner_call_id(self._context.call_id, asked.key)

        def make(
            arguments: JsonObject, *, approved: bool, denied: ApprovalDenied | None
        ) -> ToolResult:
            decided = {"approved": approved, "denied": denied, "call_id": call_id}
            return self._made(spec, arguments, cancel, **decided)

        started = time.monotonic()
        result = asked.run(arguments, spec, make)
        self._noted(note, result, started)
        if made := asked.made():
            return told_again(made)  # with how long it took, as every later run is told
        return _output_of(result)

    def _call(self, spec: ToolSpec, arguments: JsonObject, cancel: threading.Event) -> JsonValue:
        note, started = self._begun(spec.wire_name), time.monotonic()
        result = self._made(spec, arguments, cancel)
        self._noted(note, result, started)
        return _output_of(result)

    def _made(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        cancel: threading.Event,
        **decided: Any,
    ) -> ToolResult:
        if self._context.inner is None:
            raise ToolUnavailable("Programs can call tools only when they are run by `invoke`.")
        return self._context.inner(spec, arguments, cancel, **decided)

    def _noted(self, note: JsonObject, result: ToolResult, started: float) -> None:
        note["duration_ms"] = round((time.monotonic() - started) * 1000)
        if result.invocation_id is not None:
            note["invocation"] = str(result.invocation_id)
        if isinstance(result, Failed):
            self._ended(note, "failed", f"{note['tool']}: {result.error.message}")
        else:
            self._ended(note, "succeeded", note["tool"])

    def _replayed(self, note: JsonObject, call: RecordedCall) -> None:
        error = call.outcome.get("error")
        note |= {"duration_ms": call.duration_ms, "replayed": True}
        if call.invocation is not None:
            note["invocation"] = call.invocation
        message = f"{call.tool}: {error['message']}" if error else call.tool
        self._ended(note, "failed" if error else "succeeded", message)

    def _begun(self, name: str) -> JsonObject:
        with self._lock:
            note: JsonObject = {
                "number": len(self._calls) + 1,
                "tool": name,
                "status": "running",
                "message": name,
            }
            self._calls.append(note)
        self._tell(note)
        return note

    def _ended(self, note: JsonObject, status: str, message: str) -> None:
        note["status"], note["message"] = status, message[:300]
        self._tell(note)

    def _tell(self, note: JsonObject) -> None:
        self._context.progress(
            {"message": note["message"], "step": note["number"], "status": note["status"]}
        )


def _output_of(result: ToolResult) -> JsonValue:
    if isinstance(result, Failed):
        raise result.error
    return result.output


def _begin(context: CallContext) -> Begin | None:
    if context.replay is None:
        return None
    return Begin(context.replay.start.seed, context.replay.start.clock)


def _output(answer: CodeOutput) -> JsonObject:
    output: JsonObject = {"result": answer.value}
    if not answer.is_json:
        output["result_is_repr_of"] = answer.type_name
    return output | {"printed": _shortened(answer.printed), "calls": answer.calls}


def _shortened(printed: str) -> str:
    if len(printed) <= MOST_PRINTED:
        return printed
    return f"{printed[:MOST_PRINTED]}\n… (only the first {MOST_PRINTED:,} characters are shown)"


def _failure(error: ToolError, log: CallLog, printed: str) -> ToolError:
    """Return the error with what the program had done.

    A program that never ends, or takes too much memory, is the fault of who wrote it: it says
    nothing about the health of the tool that runs programs.
    """
    if error.health is not Fault.NONE and not isinstance(error, CodeFailed):
        error = CodeFailed(error.message, error.hint, reason=error.code)
    details = {**log.details(), **error.extra.get("details", {})}
    error.extra |= {"calls": log.count, "details": details}
    if printed:
        error.extra["printed"] = _shortened(printed)
    return error
