"""Resolve a function's annotations, those too that only a type checker is meant to see."""

import ast
import contextlib
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Any


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations as objects.

    Many modules import what their annotations name below `if TYPE_CHECKING:`. When a name is
    missing, those blocks are carried out, as far as they can be; raises NameError otherwise.
    """
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:
        module = sys.modules[function.__module__]
        names = dict(vars(module))
        _check_types(module, names)
        return typing.get_type_hints(function, names, include_extras=True)


def _check_types(module: Any, names: dict[str, Any]) -> None:
    """Carry out a module's `if TYPE_CHECKING:` blocks into `names`."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return
    for statement in tree.body:
        if not isinstance(statement, ast.If) or "TYPE_CHECKING" not in ast.unparse(statement.test):
            continue
        for line in statement.body:
            code = compile(ast.Module([line], []), "<types>", "exec")
            with contextlib.suppress(Exception):
                exec(code, names)  # noqa: S102 - the package's own code, in its own sandbox
