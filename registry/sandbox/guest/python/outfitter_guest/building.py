"""Turn JSON arguments into the values that a parameter's annotation asks for."""

import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

from .annotations import LISTS, MAPPINGS, UNIONS, WRAPPERS
from .channel import BAD_INPUT, Refusal

SETS: dict[Any, type] = {set: set, frozenset: frozenset, collections.abc.Set: set}

READERS: dict[Any, Callable[[Any], Any]] = {
    bytes: base64.b64decode,
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    datetime.timedelta: lambda value: datetime.timedelta(seconds=value),
    uuid.UUID: uuid.UUID,
    decimal.Decimal: lambda value: decimal.Decimal(str(value)),
    pathlib.Path: pathlib.Path,
    pathlib.PurePath: pathlib.PurePath,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
}
SHAPES: dict[Any, type | tuple[type, ...]] = {
    str: str,
    int: int,
    float: (int, float),
    bool: bool,
    type(None): type(None),
    dict: dict,
    list: list,
}


def built(annotation: Any, value: Any, name: str) -> Any:
    """Return the value for a parameter; raises a refusal of the arguments that names it."""
    try:
        return _build(annotation, value)
    except Refusal:
        raise
    except Exception as error:
        said = str(error) or type(error).__name__
        raise Refusal(BAD_INPUT, f"“{name}” is not accepted: {said}") from error


def _build(annotation: Any, value: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated or origin in WRAPPERS:
        return _build(arguments[0], value)
    if origin in UNIONS:
        return _either(arguments, value)
    if origin is Literal:
        return value
    if origin is tuple:
        return _tuple(arguments, value)
    if origin in LISTS and isinstance(value, list):
        items = [_build(arguments[0], item) for item in value]
        return SETS.get(origin, list)(items)
    if origin in MAPPINGS and isinstance(value, dict):
        keys, values = arguments
        return {_build(keys, key): _build(values, item) for key, item in value.items()}
    if hasattr(annotation, "__supertype__"):
        return _build(annotation.__supertype__, value)
    if isinstance(annotation, type):
        return _instance(annotation, value)
    return value


def _instance(cls: Any, value: Any) -> Any:
    if cls in READERS:
        return READERS[cls](value)
    if issubclass(cls, enum.Enum):
        return next((member for member in cls if member.value == value), None) or cls(value)
    if hasattr(cls, "model_validate"):  # pydantic
        return cls.model_validate(value)
    if typing.is_typeddict(cls) and isinstance(value, dict):
        return _fields(cls, value)
    if dataclasses.is_dataclass(cls) and isinstance(value, dict):
        made: Any = cls
        return made(**_fields(cls, value))
    return value


def _fields(cls: Any, value: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return {name: _build(hints.get(name, Any), item) for name, item in value.items()}


def _either(options: tuple[Any, ...], value: Any) -> Any:
    """Try the options whose JSON shape the value has, then the others, in their order."""
    exact = [option for option in options if _has_shape(option, value)]
    first: Exception | None = None
    for option in [*exact, *(option for option in options if option not in exact)]:
        if option in SHAPES and option not in exact:
            continue
        try:
            return _build(option, value)
        except Exception as error:
            first = first or error
    if first is not None:
        raise first
    return value


def _has_shape(option: Any, value: Any) -> bool:
    shape = SHAPES.get(get_origin(option) or option)
    if shape is None:
        return False
    if isinstance(value, bool):
        return shape is bool
    return isinstance(value, shape)


def _tuple(items: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, list):
        return value
    if len(items) == 2 and items[1] is Ellipsis:  # noqa: PLR2004 - tuple[T, ...]
        return tuple(_build(items[0], item) for item in value)
    return tuple(_build(kind, item) for kind, item in zip(items, value, strict=True))
