"""Run a program that a model wrote, in the sandbox, and the tools it calls, through the door."""

import threading
import time
from collections.abc import Mapping

from django.conf import settings
from django.db import connections

from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.errors import CodeFailed, Fault, ToolError, ToolUnavailable
from registry.executors.base import Output, give_back_connection
from registry.models.tool import ToolKind
from registry.results import Failed
from registry.sandbox.client import sandbox
from registry.sandbox.contract import CodeOutput, InnerCall
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
        invocation}]}`, in a failure too.
        """
        log = CallLog(context)
        tools = {name: log.calling(tool) for name, tool in callable_tools(context).items()}
        printed: list[str] = []
        give_back_connection()
        try:
            answer = sandbox().execute(
                arguments["code"],
                tools,
                timeout_seconds=spec.timeout_seconds,
                call_seconds=settings.CODE_CALL_SECONDS,
                cancel=context.cancel,
                on_print=printed.append,
            )
        except ToolError as error:
            raise _failure(error, log, "".join(printed)) from error
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

    def __init__(self, context: CallContext) -> None:
        self._context = context
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

    def _call(self, spec: ToolSpec, arguments: JsonObject, cancel: threading.Event) -> JsonValue:
        if self._context.inner is None:
            raise ToolUnavailable("Programs can call tools only when they are run by `invoke`.")
        note = self._begun(spec)
        started = time.monotonic()
        result = self._context.inner(spec, arguments, cancel)
        note["duration_ms"] = round((time.monotonic() - started) * 1000)
        if result.invocation_id is not None:
            note["invocation"] = str(result.invocation_id)
        if isinstance(result, Failed):
            self._ended(note, "failed", f"{spec.wire_name}: {result.error.message}")
            raise result.error
        self._ended(note, "succeeded", spec.wire_name)
        return result.output

    def _begun(self, spec: ToolSpec) -> JsonObject:
        with self._lock:
            note: JsonObject = {
                "number": len(self._calls) + 1,
                "tool": spec.wire_name,
                "status": "running",
                "message": spec.wire_name,
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
    error.extra |= {"calls": log.count, "details": log.details()}
    if printed:
        error.extra["printed"] = _shortened(printed)
    return error
