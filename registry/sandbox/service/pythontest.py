"""Prove that the chosen CPython starts behind the walls.

Where it does not, what is written in Python is closed; packages in JavaScript run all the same.
"""

from registry.sandbox.service import code
from registry.sandbox.service.code_guest import CodeGuest
from registry.sandbox.service.errors import ServiceError, tail
from registry.sandbox.service.runtime import Runtime


async def trouble(runtime: Runtime) -> str:
    """Return what keeps Python from starting, in words; empty where nothing does or none is."""
    if runtime.python is None:
        return ""
    try:
        guest = await CodeGuest.start(runtime, code.profile(runtime))
    except (ServiceError, OSError) as error:
        program = f"{runtime.python.program} {runtime.python.version}"
        return f"{program} does not start in a sandbox: {_said(error)}"
    await guest.end()
    return ""


def _said(error: ServiceError | OSError) -> str:
    """Return the last words of the interpreter, or else how it ended."""
    if isinstance(error, OSError):
        return str(error)
    said = tail(str(error.extra.get("stderr", ""))).splitlines()
    return said[-1] if said else error.message
