"""The calls of a program that may wait for a person: what was kept, what was decided, what is new.

A call that has to wait ends the program: what is under way beside it is let finish, nothing new is
started, and the program is told of neither. Run again, it is given what was kept; a new call is
made only when all that was kept has been asked for, so that a program that takes another way is
ended before it does anything twice.
"""

import threading
import time
from typing import Protocol

from config.lib.types import JsonObject, JsonValue
from registry.errors import (
    ApprovalDenied,
    CallCancelled,
    InputNeeded,
    MissingCredential,
    ProgramPaused,
    ReplayDiverged,
    ToolError,
    ToolTimeout,
)
from registry.questions import question_asked
from registry.replay import Decided, Keys, Pause, PendingCall, RecordedCall, Replay
from registry.results import Failed, ToolResult
from registry.sandbox.contract import Cancel, NotTold, Told
from registry.specs import ToolSpec

HELD_SECONDS = 5.0
"""How long a new call waits for those to be asked for again that came before it."""

POLL_SECONDS = 0.1

BESIDE_SECONDS = 0.1
"""How long calls are still taken once one has to wait: those that the program makes beside it, so
that a person is asked about all of them at once."""


class Made(Protocol):
    """Makes a call, or writes down that a person denied it."""

    def __call__(
        self, arguments: JsonObject, *, approved: bool, denied: ApprovalDenied | None
    ) -> ToolResult: ...


UNDECIDED = Decided()


class PausedOrOver:
    """Set when the caller gave up, or when the program is not to run on."""

    def __init__(self, given_up: Cancel, over: threading.Event) -> None:
        self._given_up, self._over = given_up, over

    def is_set(self) -> bool:
        """Say whether the program is to end."""
        return self._over.is_set() or self._given_up.is_set()


class PausableCalls:
    """The calls of one run of a program."""

    def __init__(self, replay: Replay, given_up: Cancel) -> None:
        self._replay = replay
        self._keys = Keys()
        self._state = threading.Condition()
        self._unasked = set(replay.recorded)
        self._undone = {key for key, said in replay.decided.items() if said.approved}
        self._made: dict[str, RecordedCall] = {}
        self._open: set[str] = set()
        self._under_way: dict[str, RecordedCall] = {}
        self._pending: list[PendingCall] = []
        self._taken_until = 0.0
        self._numbers = 0
        self._diverged = ""
        self._over = threading.Event()
        self.cancel = PausedOrOver(given_up, self._over)

    def asked(self, tool: str, arguments: JsonObject) -> "PausableCall":
        """Take note of a call, in the order in which the program makes them."""
        key = self._keys.next(tool, arguments)
        with self._state:
            self._numbers += 1
            self._unasked.discard(key)
            self._undone.discard(key)
            self._state.notify_all()
            if not self._ending or time.monotonic() < self._taken_until:
                self._open.add(key)
            return PausableCall(self, key, self._numbers, tool)

    def recorded(self, key: str) -> RecordedCall | None:
        """Return what a call gave before the program was paused."""
        return self._replay.recorded.get(key)

    def made(self, key: str) -> RecordedCall | None:
        """Return what a call gave in this run."""
        with self._state:
            return self._made.get(key)

    def decided(self, key: str) -> Decided:
        """Return what a person said to a call."""
        return self._replay.decided.get(key, UNDECIDED)

    def begin(self, call: "PausableCall") -> None:
        """Let a call begin; raises NotTold where the program is about to be ended."""
        new = call.key not in self._replay.decided
        until = time.monotonic() + HELD_SECONDS
        with self._state:
            while new and self._unasked:
                if time.monotonic() > until:
                    self._diverge(f"it called {call.tool}, which it had not called before")
                if self._ending:
                    raise NotTold
                self._state.wait(POLL_SECONDS)
            if call.key not in self._open:
                raise NotTold  # it came when another had to wait already
            cut_off = ToolTimeout(
                f"{call.tool} was cut off when the program was paused: whether it took effect is "
                "not known."
            )
            unknown = call.recorded_as({"error": cut_off.as_dict()}, None, 0)
            self._under_way[call.key] = unknown
        self._replay.sink(call.key, unknown)  # what a process leaves that dies during the call

    def end(self, call: RecordedCall | PendingCall) -> None:
        """Keep how a call ended."""
        self._replay.sink(call.key, call if isinstance(call, RecordedCall) else None)
        with self._state:
            del self._under_way[call.key]
            if isinstance(call, PendingCall):
                self._taken_until = self._taken_until or time.monotonic() + BESIDE_SECONDS
                self._pending.append(call)
            else:
                self._made[call.key] = call

    def let_go(self, call: "PausableCall") -> None:
        """Take note that a call is over; the last of them ends a program that is to be paused."""
        with self._state:
            self._open.discard(call.key)
            if self._pending and not self._open:
                self._over.set()
            self._state.notify_all()

    def verdict(self, ended: ToolError | None) -> ToolError | None:
        """Return what the program failed with, given what the sandbox said of it.

        That is ProgramPaused, whose `extra.details.pause` is to be kept, ReplayDiverged, or what
        the sandbox said.
        """
        if isinstance(ended, CallCancelled) and not self._over.is_set():
            return ended  # whoever called it gave up
        with self._state:
            if self._pending and not self._diverged:
                waiting = ", ".join(dict.fromkeys(call.tool for call in self._pending))
                details = {"pause": self._pause()}
                return ProgramPaused(f"The program waits for a person: {waiting}.", details=details)
            if self._unasked or self._undone:
                left = self._unasked | self._undone
                tools = {call.tool for key, call in self._replay.recorded.items() if key in left}
                named = ", ".join(sorted(tools)) or "what was approved"
                self._diverge(f"it ended without calling {named} again")
        if not self._diverged:
            return ended
        return ReplayDiverged(
            f"The program was run again after its pause and took another way: {self._diverged}."
        )

    @property
    def _ending(self) -> bool:
        return bool(self._pending or self._diverged)

    def _diverge(self, why: str) -> None:
        self._diverged = self._diverged or why
        self._over.set()

    def _pause(self) -> JsonObject:
        # what was cut off is kept as failed, so that it is not made again unasked
        made = {**self._replay.recorded, **self._under_way, **self._made}
        calls = sorted(made.values(), key=lambda call: call.number)
        pending = sorted(self._pending, key=lambda call: call.number)
        return Pause(start=self._replay.start, calls=tuple(calls), pending=tuple(pending)).as_dict()


class PausableCall:
    """One call of such a program; `number` is its place in this run, from 1 on."""

    def __init__(self, calls: PausableCalls, key: str, number: int, tool: str) -> None:
        self._calls = calls
        self.key, self.number, self.tool = key, number, tool

    def made(self) -> RecordedCall | None:
        """Return what it gave in this run; None when it was not made."""
        return self._calls.made(self.key)

    def let_go(self) -> None:
        """Take note that it is over, in whatever way."""
        self._calls.let_go(self)

    def replayed(self) -> RecordedCall | None:
        """Return what it gave before the program was paused."""
        return self._calls.recorded(self.key)

    def run(self, arguments: JsonObject, spec: ToolSpec | None, make: Made) -> ToolResult:
        """Make the call as it was decided, and keep what it gave; raises NotTold when it waits.

        `spec` is the tool's; None for a question.
        """
        said = self._calls.decided(self.key)
        self._calls.begin(self)
        started = time.monotonic()
        given = arguments if said.arguments is None else said.arguments
        try:
            result = make(given, approved=bool(said.approved), denied=self._denied(said))
        except BaseException:
            self._calls.end(self.recorded_as({"error": ToolError("It failed.").as_dict()}, None, 0))
            raise
        took = round((time.monotonic() - started) * 1000)
        if isinstance(result, Failed) and _waits(result.error, said):
            self._calls.end(self._pending(given, spec, result.error))
            time.sleep(BESIDE_SECONDS)
            raise NotTold
        row = str(result.invocation_id) if result.invocation_id else None
        self._calls.end(self.recorded_as(_outcome(result), row, took))
        return result

    def ask(self, arguments: JsonObject) -> JsonValue:
        """Return what the person answers to a question; None when they would not."""
        said = self._calls.decided(self.key)
        if said.answer is not None or said.skipped:
            return said.answer
        failed = Failed(error=question_asked(arguments), duration_ms=0, invocation_id=None)
        self.run(arguments, None, lambda _given, *, approved, denied: failed)
        raise NotTold

    def _denied(self, said: Decided) -> ApprovalDenied | None:
        if said.approved is not False:
            return None
        words = f"A person denied {self.tool}" + (f": {said.note}" if said.note else ".")
        return ApprovalDenied(words, "Go on without it, or ask what to do instead.")

    def _pending(self, given: JsonObject, spec: ToolSpec | None, error: ToolError) -> PendingCall:
        return PendingCall(
            key=self.key,
            number=self.number,
            tool=self.tool,
            tool_id=str(spec.tool_id) if spec else None,
            arguments=given,
            error=error.as_dict(),
            title=spec.title if spec else "",
            schema=dict(spec.input_schema) if spec else {},
        )

    def recorded_as(self, outcome: JsonObject, invocation: str | None, took: int) -> RecordedCall:
        """Return the call as it is kept."""
        return RecordedCall(
            key=self.key,
            number=self.number,
            tool=self.tool,
            outcome=outcome,
            invocation=invocation,
            duration_ms=took,
        )


def told_again(call: RecordedCall) -> Told:
    """Return what a program is told of a call that was made in an earlier run."""
    seconds = call.duration_ms / 1000
    return Told(value=call.outcome.get("output"), error=call.outcome.get("error"), seconds=seconds)


def _waits(error: ToolError, said: Decided) -> bool:
    if isinstance(error, MissingCredential):
        return not said.skipped and not error.extra.get("undeclared")
    return isinstance(error, InputNeeded)


def _outcome(result: ToolResult) -> JsonObject:
    if isinstance(result, Failed):
        return {"error": result.error.as_dict()}
    return {"output": result.output}
