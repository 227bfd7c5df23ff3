"""Turn the annotation of a parameter into JSON Schema."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from .values import NotJson, jsonable

Schema = dict[str, Any]

PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    complex: {},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "number", "description": "Seconds."},
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": ["number", "string"]},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
}
del PLAIN[complex]

LISTS = (
    *(list, set, frozenset, collections.abc.Sequence, collections.abc.MutableSequence),
    *(collections.abc.Iterable, collections.abc.Collection, collections.abc.Set),
)
SETS = (set, frozenset, collections.abc.Set)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS = (Union, types.UnionType)
WRAPPERS = tuple(
    getattr(typing, name)
    for name in ("Required", "NotRequired", "ReadOnly", "Final")
    if hasattr(typing, name)
)

CONSTRAINTS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}


class Unsupported(Exception):
    """An annotation of which no schema can be made."""


class Schemas:
    """Makes schemas; `definitions` gathers what pydantic's refer to."""

    def __init__(self) -> None:
        self.definitions: Schema = {}
        self._open: list[Any] = []

    def of(self, annotation: Any) -> Schema:
        """Return the schema of an annotation; raises `Unsupported`."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1:])
        if origin in WRAPPERS:
            return self.of(arguments[0])
        if origin in UNIONS:
            return self._union(arguments)
        if origin is Literal:
            return {"enum": [jsonable(value) for value in arguments]}
        if origin is tuple:
            return self._tuple(arguments)
        if origin in LISTS:
            unique = {"uniqueItems": True} if origin in SETS else {}
            return {"type": "array", "items": self.of(arguments[0]), **unique}
        if origin in MAPPINGS:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        return self._simple(annotation)

    def _simple(self, annotation: Any) -> Schema:
        try:
            if annotation in PLAIN:
                return dict(PLAIN[annotation])
        except TypeError:
            pass
        if annotation in LISTS:
            return {"type": "array"}
        if annotation in MAPPINGS:
            return {"type": "object"}
        if hasattr(annotation, "__supertype__"):  # NewType
            return self.of(annotation.__supertype__)
        if isinstance(annotation, TypeVar):
            return self.of(annotation.__bound__ or Any)
        if type(annotation).__name__ == "TypeAliasType":
            return self.of(annotation.__value__)
        if isinstance(annotation, type):
            return self._class(annotation)
        raise Unsupported(_name(annotation))

    def _class(self, cls: Any) -> Schema:
        if issubclass(cls, enum.Enum):
            return {"enum": [jsonable(member.value) for member in cls]}
        if hasattr(cls, "model_json_schema"):  # pydantic
            schema: Schema = cls.model_json_schema()
            self.definitions |= schema.pop("$defs", {})
            return schema
        if cls in self._open:  # it holds itself: no end would be reached
            return {"type": "object"}
        self._open.append(cls)
        try:
            if typing.is_typeddict(cls):
                return self._fields(cls, {}, cls.__required_keys__)
            if dataclasses.is_dataclass(cls):
                return self._dataclass(cls)
        finally:
            self._open.pop()
        if issubclass(cls, str | int | float):
            return self.of(next(base for base in (str, int, float) if issubclass(cls, base)))
        raise Unsupported(_name(cls))

    def _dataclass(self, cls: Any) -> Schema:
        fields = [field for field in dataclasses.fields(cls) if field.init]
        missing = dataclasses.MISSING
        defaults = {f.name: f.default for f in fields if f.default is not missing}
        required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
        return self._fields(cls, defaults, required, [field.name for field in fields])

    def _fields(
        self,
        cls: Any,
        defaults: dict[str, Any],
        required: typing.Collection[str],
        names: list[str] | None = None,
    ) -> Schema:
        hints = typing.get_type_hints(cls, include_extras=True)
        properties = {}
        for name in names or hints:
            properties[name] = self.of(hints[name])
            if name in defaults:
                with_default(properties[name], defaults[name])
        needed = [name for name in properties if name in required]
        schema: Schema = {"type": "object", "properties": properties}
        return schema | ({"required": needed} if needed else {})

    def _union(self, options: tuple[Any, ...]) -> Schema:
        """Return the union of the options that JSON can say; raises `Unsupported` for none."""
        schemas: list[Schema] = []
        refused: Unsupported | None = None
        for option in options:
            if option in (bytes, bytearray) and str in options:
                continue
            try:
                schema = self.of(option)
            except Unsupported as error:
                refused = error
                continue
            if schema not in schemas:
                schemas.append(schema)
        if refused is not None and all(schema == {"type": "null"} for schema in schemas):
            raise refused
        if {} in schemas:
            return {}
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _tuple(self, items: tuple[Any, ...]) -> Schema:
        if len(items) == 2 and items[1] is Ellipsis:  # noqa: PLR2004 - tuple[T, ...]
            return {"type": "array", "items": self.of(items[0])}
        schemas = [self.of(item) for item in items if item != ()]
        size = len(schemas)
        return {"type": "array", "prefixItems": schemas, "minItems": size, "maxItems": size}

    def _annotated(self, annotation: Any, metadata: tuple[Any, ...]) -> Schema:
        schema = self.of(annotation)
        for item in metadata:
            for part in (item, *getattr(item, "metadata", ())):
                schema |= _constraints(part, schema)
            words = item if isinstance(item, str) else _words(item)
            if words:
                schema["description"] = words
        return schema


def _constraints(item: Any, schema: Schema) -> Schema:
    found = {}
    for name, keyword in CONSTRAINTS.items():
        value = getattr(item, name, None)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            found[keyword] = value
    noun = {"array": "Items", "object": "Properties"}.get(str(schema.get("type")), "Length")
    for name in ("min", "max"):
        value = getattr(item, f"{name}_length", None)
        if isinstance(value, int):
            found[f"{name}{noun}"] = value
    return found


def _words(item: Any) -> str:
    for name in ("description", "documentation"):
        words = getattr(item, name, None)
        if isinstance(words, str):
            return words
    return ""


def with_default(schema: Schema, default: Any) -> None:
    """Put a default into a schema, unless it is not JSON."""
    try:
        schema["default"] = jsonable(default)
    except NotJson:
        return


def _name(annotation: Any) -> str:
    return getattr(annotation, "__qualname__", None) or str(annotation)
