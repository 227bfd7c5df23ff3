"""Turn a tool's answer into plain JSON values, and name what cannot be carried."""

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .channel import BAD_OUTPUT, Refusal

MAX_DEPTH = 90
MAX_DIGITS = 29
MAX_ITEMS = 100_000
MAX_ARTIFACT_BYTES = 2_000_000

ISO = (datetime.datetime, datetime.date, datetime.time)
AS_TEXT = (uuid.UUID, pathlib.PurePath, decimal.Decimal)
LISTS = (list, tuple, set, frozenset)


class NotJson(Exception):
    """A value that is not JSON, and where in the answer it is."""

    def __init__(self, what: str, path: str) -> None:
        self.what = what
        self.path = path
        super().__init__(f"{what} at {path}")

    def refusal(self) -> Refusal:
        """Return the error answer for it."""
        where = f" at {self.path}" if self.path != "$" else ""
        return Refusal(BAD_OUTPUT, f"The tool's answer holds {self.what}{where}, which is no JSON.")


def jsonable(value: Any, path: str = "$", depth: int = 0) -> Any:
    """Return the value as JSON has it; raises `NotJson`."""
    if depth > MAX_DEPTH:
        raise NotJson("more levels than are taken", path)
    if isinstance(value, enum.Enum):
        return jsonable(value.value, path, depth)
    if value is None or isinstance(value, bool | str):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise NotJson(f"a whole number of more than {MAX_DIGITS} digits", path)
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(f"the number {value}", path)
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise NotJson("bytes (encode them, for example as base64)", path)
    if isinstance(value, ISO):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, AS_TEXT):
        return str(value)
    return _composed(value, path, depth)


def _composed(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {
            _key(key, path): jsonable(item, f"{path}.{key}", depth + 1)
            for key, item in value.items()
        }
    if hasattr(value, "_asdict"):  # a named tuple
        return jsonable(value._asdict(), path, depth)
    if isinstance(value, LISTS):
        items = _sorted(value) if isinstance(value, set | frozenset) else value
        return _list(items, path, depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        found = {field.name: getattr(value, field.name) for field in fields}
        return jsonable(found, path, depth)
    if hasattr(value, "model_dump") and not isinstance(value, type):  # pydantic
        return jsonable(value.model_dump(mode="json"), path, depth)
    if type(value).__module__.split(".")[0] in ("numpy", "pandas") and hasattr(value, "tolist"):
        return jsonable(value.tolist(), path, depth)
    if isinstance(value, Iterator):
        return _list(value, path, depth)
    raise NotJson(f"a value of type {type(value).__qualname__}", path)


def _list(items: Iterable[Any], path: str, depth: int) -> list[Any]:
    found = []
    for index, item in enumerate(items):
        if index == MAX_ITEMS:
            raise NotJson(f"more than {MAX_ITEMS:,} items", path)
        found.append(jsonable(item, f"{path}[{index}]", depth + 1))
    return found


def _key(key: Any, path: str) -> str:
    if isinstance(key, enum.Enum):
        return _key(key.value, path)
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int | float | uuid.UUID):
        return str(key)
    if isinstance(key, ISO):
        return key.isoformat()
    raise NotJson(f"a key of type {type(key).__qualname__}", path)


def _sorted(items: Iterable[Any]) -> list[Any]:
    found = list(items)
    try:
        return sorted(found)
    except TypeError:
        return found


def packed(name: str, data: bytes, media_type: str) -> dict[str, Any]:
    """Return a saved artifact as the answer carries it."""
    return {
        "name": name,
        "media_type": media_type,
        "size": len(data),
        "data": base64.b64encode(data).decode(),
    }
