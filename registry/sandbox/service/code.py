"""Run programs that models write: check what is asked, lend an interpreter, tell the outcome."""

import time
from typing import Any

from registry.sandbox.service.code_execution import Ask, Print, Program
from registry.sandbox.service.code_guest import CodeGuest
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import (
    CODE_CALL_SECONDS,
    CODE_SECONDS,
    MAX_CALL_SECONDS,
    MAX_CODE_CHARACTERS,
    MAX_CODE_TOOLS,
    MAX_OUTPUT_BYTES,
    MAX_PRINT_CHARACTERS,
    PYTHON_LIMITS,
)
from registry.sandbox.service.places import Places
from registry.sandbox.service.pool import SparePool
from registry.sandbox.service.process import out_of_memory
from registry.sandbox.service.profile import Profile
from registry.sandbox.service.python import interpreter_of
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.wire import Answer, Failure

PROGRAMS = 32
LINE = "code"
"""The key of the spares: a program brings nothing that would tell one interpreter from another."""

# The codes of `guest/code/worker.py`.
VALUE_TOO_LARGE, VALUE_REFUSED = -32003, -32004
MEMORY_ERROR = "MemoryError"

# Names that the protocol itself uses; no tool can be reached by them.
RESERVED = frozenset({"execute", "print", "ready", "cancel"})


def profile(runtime: Runtime) -> Profile:
    """Return the profile of a program: the interpreter, the common libraries, and no network.

    Raises `ServiceError` when the machine has no Python for it.
    """
    interpreter = interpreter_of(runtime)
    libraries = {str(path): path for path in interpreter.libraries}
    return Profile(
        command=(interpreter.path, "-I", "-S", "-B", "/rt/code/worker.py"),
        limits=PYTHON_LIMITS,
        read_only=libraries | dict(interpreter.read_only) | {"/rt/code": runtime.guest / "code"},
        reserve_mb=0,
    )


class CodeRunner:
    """Runs programs, each in an interpreter of its own that is ready beforehand.

    They have places of their own: a program waits for the packages it calls, and if both took from
    the same places, enough programs would wait for each other for ever.
    """

    def __init__(self, pool: SparePool[CodeGuest]) -> None:
        self._pool = pool
        self._places = Places(PROGRAMS, PROGRAMS)

    async def execute(
        self, runtime: Runtime, params: dict[str, Any], on_print: Print, ask: Ask
    ) -> dict[str, Any]:
        """Run `{code, tools, timeout_seconds, call_seconds, start?}`.

        Returns `{value, json, type, calls, truncated, duration_ms}`: `json` is false when `value`
        is only the `repr` of a value of `type`.
        """
        program = checked(params)
        async with self._places.take(LINE):
            return await self._run(runtime, program, on_print, ask)

    async def _run(
        self, runtime: Runtime, program: Program, on_print: Print, ask: Ask
    ) -> dict[str, Any]:
        async def start() -> CodeGuest:
            return await CodeGuest.start(runtime, profile(runtime))

        started = time.monotonic()
        async with self._pool.lease(LINE, start, label="Code", group=LINE) as guest:
            try:
                answer, execution = await guest.run(program, ask, on_print)
            except TimeoutError:
                message = f"The code did not end within {program.seconds:g} seconds."
                hint = "Give it less to do, or call its tools side by side with asyncio.gather."
                raise ServiceError("tool_timeout", message, hint, during="call") from None
        return {
            **outcome(answer),
            "calls": execution.calls,
            "truncated": execution.printed > MAX_PRINT_CHARACTERS,
            "duration_ms": round((time.monotonic() - started) * 1000),
        }


def outcome(answer: Answer | Failure) -> dict[str, Any]:
    """Return `{value, json, type}` of an answer; raises `ServiceError` for any other."""
    if isinstance(answer, Failure):
        if answer.message.startswith(MEMORY_ERROR):
            raise out_of_memory()
        if answer.code == VALUE_TOO_LARGE:
            hint = "Let the code return a part or a summary."
            raise ServiceError("output_too_large", answer.message[:500], hint)
        if answer.code == VALUE_REFUSED:
            hint = "Let the code return a simpler value."
            raise ServiceError("output_rejected", answer.message[:500], hint)
        raise ServiceError("code_failed", answer.message[:8_000] or "The code failed.")
    if answer.size > MAX_OUTPUT_BYTES + 1_000:
        message = f"The code's result has {answer.size / (1 << 20):.1f} MB; at most 1 MB is taken."
        hint = "Let the code return a part or a summary."
        raise ServiceError("output_too_large", message, hint)
    found = answer.result
    if not isinstance(found, dict) or "value" not in found or type(found.get("json")) is not bool:
        raise ServiceError("protocol_violation", "The code's process sent an answer of no use.")
    return {
        "value": found["value"],
        "json": found["json"],
        "type": str(found.get("type", ""))[:100],
    }


def checked(params: dict[str, Any]) -> Program:
    """Return the program that is asked for; raises `ServiceError` for parameters of no use."""
    code, tools = params.get("code"), params.get("tools", [])
    if not isinstance(code, str) or len(code) > MAX_CODE_CHARACTERS:
        message = f'"code" must be a text of at most {MAX_CODE_CHARACTERS:,} characters.'
        raise ServiceError("invalid_request", message)
    if (
        not isinstance(tools, list)
        or len(tools) > MAX_CODE_TOOLS
        or not all(isinstance(name, str) and name not in RESERVED for name in tools)
    ):
        message = f'"tools" must be a list of at most {MAX_CODE_TOOLS} names that are free.'
        raise ServiceError("invalid_request", message)
    return Program(
        code=code,
        tools=frozenset(tools),
        seconds=_seconds(params, "timeout_seconds", CODE_SECONDS),
        call_seconds=_seconds(params, "call_seconds", CODE_CALL_SECONDS),
        start=_start(params.get("start")),
    )


def _start(start: Any) -> dict[str, Any] | None:
    if start is None:
        return None
    seed, clock = (start.get("seed"), start.get("clock")) if isinstance(start, dict) else (0, 0)
    if not isinstance(seed, int) or seed < 0 or not isinstance(clock, int | float) or clock <= 0:
        raise ServiceError("invalid_request", '"start" must be {seed, clock}, numbers above zero.')
    return {"seed": seed, "clock": float(clock)}


def _seconds(params: dict[str, Any], name: str, default: float) -> float:
    value = params.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ServiceError("invalid_request", f'"{name}" must be a number above zero.')
    return min(float(value), MAX_CALL_SECONDS)
