"""Runs one piece of Python that a model wrote, inside the sandbox.

JSON-RPC 2.0, one message per line, over the descriptors 0 and 1, which are put out of the code's
way before it runs. The host asks `execute {code, tools, start?}` and gets `{value, json, type}`;
while the code runs, it asks the host: a request whose method is a tool's name calls that tool, and
a `print` notification `{text}` carries what the code prints. Nothing here is trusted by the host.
"""

import ast
import asyncio
import builtins
import contextlib
import functools
import inspect
import json
import keyword
import linecache
import os
import sys
import traceback
import types
import typing
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, NoReturn

# `-I` keeps the folder of a program from where modules are looked for.
sys.path.insert(0, str(Path(__file__).parent))

if typing.TYPE_CHECKING:
    from registry.sandbox.guest.code.channel import (
        MOST_BYTES,
        Channel,
        NotJson,
        Printed,
        TooDeep,
        ToolCallError,
        encoded,
    )
    from registry.sandbox.guest.code.steady import steadied
else:
    from channel import MOST_BYTES, Channel, NotJson, Printed, TooDeep, ToolCallError, encoded
    from steady import steadied

NAME = "<code>"
CODE_FAILED, VALUE_TOO_LARGE, VALUE_REFUSED = -32000, -32003, -32004
REPR_CHARACTERS = 10_000
TRACE_LINES = 8


def compiled(code: str) -> types.CodeType:
    """Compile a program so that running it leaves the last expression's value in `_value_`."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(code, NAME, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.copy_location(ast.Name("_value_", ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    program: types.CodeType = compile(tree, NAME, "exec", flags, dont_inherit=True)
    return program


def names_for(channel: Channel) -> dict[str, Any]:
    """Return the program's global names: the calls, and each tool whose name is free."""
    names: dict[str, Any] = {
        "tool_call": channel.tool_call,
        "ToolCallError": ToolCallError,
        "asyncio": asyncio,
        "json": json,
    }
    for name in channel.tools:
        if name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name):
            names.setdefault(name, functools.partial(channel.tool_call, name))
    return names


def run(code: str, names: dict[str, Any], runner: asyncio.Runner) -> Any:
    """Run the program and return its value.

    Without an `await` at the top it runs outside the event loop, so that `asyncio.run` works; a
    last expression that can be awaited is.
    """
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    program = compiled(code)
    module = types.ModuleType("__main__")
    module.__dict__.update(names, _value_=None)
    sys.modules["__main__"] = module
    if program.co_flags & inspect.CO_COROUTINE:
        runner.run(eval(program, module.__dict__))  # noqa: S307 - what this process is for
    else:
        exec(program, module.__dict__)  # noqa: S102
    value = module.__dict__.get("_value_")
    return runner.run(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def told(error: BaseException) -> str:
    """Return an exception with the lines of the program that it came through."""
    if isinstance(error, SyntaxError) and error.filename == NAME:
        return f"SyntaxError: {error.msg}\n  line {error.lineno}: {(error.text or '').strip()}"
    frames = [
        f"  line {frame.lineno}, in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == NAME
    ]
    text = "".join(traceback.format_exception_only(error)).strip()
    return "\n".join([text.replace("__main__.", "")[:2000], *frames[-TRACE_LINES:]])


def outcome(code: str, names: dict[str, Any], runner: asyncio.Runner) -> dict[str, Any]:
    """Run the program; return the members of the answer that it comes to."""
    try:
        value = run(code, names, runner)
    except SystemExit as end:
        if end.code not in (None, 0):
            return _error(CODE_FAILED, f"The code ended itself with the status {end.code!r}.")
        value = None
    except BaseException as error:  # whatever it is, it is the program's
        return _error(CODE_FAILED, told(error))
    try:
        text, is_json = encoded(value), True
    except TooDeep:
        return _error(VALUE_REFUSED, "The code's result is nested too deeply.")
    except NotJson:
        text, is_json = "", False
    try:
        shown = value if is_json else repr(value)[:REPR_CHARACTERS]
    except Exception as error:
        return _error(CODE_FAILED, told(error))
    if len(text) > MOST_BYTES:
        size = f"{len(text) / MOST_BYTES:.1f} MB"
        return _error(VALUE_TOO_LARGE, f"The code's result has {size}; at most 1 MB is taken.")
    return {"result": {"value": shown, "json": is_json, "type": type(value).__name__[:100]}}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def main() -> NoReturn:
    """Say that everything is imported, wait for the program, run it, answer, end."""
    channel = Channel()
    runner = asyncio.Runner()
    runner.get_loop()
    exec(compiled("1"), {})  # noqa: S102 - the first use of the compiler costs more
    channel.write(method="ready", params={})
    request = channel.wait_for_request()
    channel.tools = frozenset(request["params"]["tools"])
    if start := request["params"].get("start"):
        channel.clock = steadied(start["seed"], start["clock"])
    printed = Printed(channel)
    channel.before_call = printed.flush
    sys.stdout = sys.stderr = printed
    answer = outcome(request["params"]["code"], names_for(channel), runner)
    with contextlib.suppress(BaseException):
        printed.flush()
    channel.write(id=request["id"], **answer)
    os._exit(0)


if __name__ == "__main__":
    main()
