"""Which keys a package looks for: noted as it runs, and found in the text of its own files.

Only names are ever told, never values, and only names that look like keys.
"""

import ast
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

KEY_LIKE = re.compile(
    r"(?:[A-Z][A-Z0-9]*_)*"
    r"(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PAT)(?:_[A-Z0-9]+)?"
)
LONGEST_NAME = 100
MOST_NAMES = 20
MOST_FILES = 2_000
MOST_BYTES = 16 << 20
LARGEST_FILE = 1 << 20

MISSED: dict[str, None] = {}
"""Names looked for in vain during this call, in the order in which they were."""

GETTERS = ("getenv", "get", "pop", "setdefault")


def is_key_like(name: object) -> bool:
    """Tell whether a name is that of a key."""
    return isinstance(name, str) and len(name) <= LONGEST_NAME and bool(KEY_LIKE.fullmatch(name))


def watch_environment(told: Callable[[str], None] = lambda _name: None) -> None:
    """Note from now on every look at a variable that is not set; `told` gets the name of each."""
    inherited: Any = type(os.environ)
    found = inherited.__getitem__

    def look(environ: Any, name: Any) -> Any:
        try:
            return found(environ, name)
        except KeyError:
            if environ is os.environ and is_key_like(name) and name not in MISSED:
                MISSED[name] = None
                told(name)
            raise

    # `os.getenv`, `.get` and `in` all come down to this one method.
    inherited.__getitem__ = look


def missed_variables() -> list[str]:
    """Return the names looked for in vain since `MISSED` was last cleared."""
    return list(MISSED)[:MOST_NAMES]


def variables_read(files: Iterator[Path]) -> list[str]:
    """Return the names of keys that the files read from the environment."""
    names: set[str] = set()
    room = MOST_BYTES
    for count, path in enumerate(files):
        size = path.stat().st_size
        room -= size
        if count == MOST_FILES or room < 0:
            break
        if size <= LARGEST_FILE:
            names.update(_read_in(path.read_bytes()))
    return sorted(names)[:MOST_NAMES]


def _read_in(source: bytes) -> Iterator[str]:
    if b"environ" not in source and b"getenv" not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        name = _name_read(node)
        if name is not None and is_key_like(name):
            yield name


def _name_read(node: ast.AST) -> str | None:
    """Return the variable that a subscript of `os.environ`, its `get` or `getenv` reads."""
    if isinstance(node, ast.Subscript) and _is_environ(node.value):
        return _text(node.slice) if isinstance(node.ctx, ast.Load) else None
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "getenv":
        return _text(node.args[0])
    if isinstance(function, ast.Attribute) and name in GETTERS and _is_environ(function.value):
        return _text(node.args[0])
    return None


def _is_environ(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "environ"
    return isinstance(node, ast.Name) and node.id == "environ"


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
