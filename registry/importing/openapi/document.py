"""Read an OpenAPI document: JSON or YAML, within limits, with the place of everything wrong."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import yaml

from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.importing.errors import DocumentProblem, InvalidDocument

LARGEST_DOCUMENT = 5_000_000
"""Bytes."""

MOST_OPERATIONS = 1_000
MOST_VALUES = 500_000
"""Values of a document, those that an alias of YAML repeats counted each time."""

MOST_MERGED = 5_000
DEEPEST = 200
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

_VERSION = re.compile(r"3\.[01]\.\d+\S*")


class _Loader(yaml.CSafeLoader):
    """YAML as JSON knows it: dates, `yes` and `1:30` stay texts, and merges are bounded."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put in what `<<` names; merges of merges can double at each step."""
        super().flatten_mapping(node)
        if len(node.value) > MOST_MERGED:
            raise yaml.MarkedYAMLError(
                problem="too many keys are merged by <<", problem_mark=node.start_mark
            )


def _scalar(kind: type[int] | type[float]) -> Callable[[yaml.CSafeLoader, yaml.ScalarNode], Any]:
    return lambda _, node: kind(node.value)


_PLAIN: tuple[tuple[str, str, str], ...] = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,30})", "-+0123456789"),
    ("float", r"[-+]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?", "-+0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("merge", r"<<", "<"),
)
_Loader.yaml_implicit_resolvers = {}
for _tag, _form, _first in _PLAIN:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_form})$"), [*_first]
    )
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])
_Loader.add_constructor("tag:yaml.org,2002:int", _scalar(int))
_Loader.add_constructor("tag:yaml.org,2002:float", _scalar(float))


def read_document(content: bytes | str) -> JsonObject:
    """Return the document in `content`; raise InvalidDocument with what is wrong and where."""
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if len(raw) > LARGEST_DOCUMENT:
        _refuse("$", f"It has {len(raw):,} bytes; at most {LARGEST_DOCUMENT:,} fit.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse("$", "It is not text in UTF-8.")
    return checked_document(_parsed(text))


def checked_document(data: JsonValue) -> JsonObject:
    """Check the frame of a document, not each operation, and return it as plain JSON."""
    _check_size(data)
    document = storable(data)
    if problems := list(_frame_problems(document)):
        raise InvalidDocument(problems)
    found = sum(1 for _ in operations_in(document))
    if not found:
        _refuse("$.paths", "It has no operation.")
    if found > MOST_OPERATIONS:
        _refuse(
            "$.paths",
            f"It has {found:,} operations; at most {MOST_OPERATIONS:,} fit. "
            "Split the document, for example by tag.",
        )
    found_document: JsonObject = document
    return found_document


def operations_in(document: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield `(path, method)` of each operation, those of a path item behind a `$ref` left out."""
    for path, item in document["paths"].items():
        if not path.startswith("x-") and isinstance(item, dict):
            yield from ((path, method) for method in METHODS if method in item)
            if "$ref" in item:
                yield from ((path, method) for method in _referred(document, item["$ref"]))


def place(*parts: str | int) -> str:
    """Return a JSON path: `$.paths["/pets/{id}"].get.parameters[0]`."""
    told = "$"
    for part in parts:
        if isinstance(part, int):
            told += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_$][\w$-]*", part):
            told += f".{part}"
        else:
            told += f"[{json.dumps(part, ensure_ascii=False)}]"
    return told


def _parsed(text: str) -> JsonValue:
    try:
        if text.lstrip()[:1] in ("{", "["):
            return json.loads(text)
        _check_nesting(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - made of the safe one
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] == "{" and (flow := _flow_yaml(text)) is not None:
            return flow
        _refuse("$", f"It is no JSON: {error.msg} (line {error.lineno}, column {error.colno}).")
    except yaml.YAMLError as error:
        _refuse("$", f"It is no YAML: {_yaml_words(error)}.")
    except (ValueError, RecursionError) as error:
        _refuse("$", f"It cannot be read: {str(error)[:200] or type(error).__name__}.")


def _flow_yaml(text: str) -> JsonValue:
    """Return what starts like JSON and is YAML, such as `{openapi: 3.0.0}`; else None."""
    try:
        _check_nesting(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - made of the safe one
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _check_nesting(text: str) -> None:
    """Refuse what is nested too deeply before the library descends into it."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            _refuse("$", f"It is nested more than {DEEPEST} levels deep.")


def _check_size(data: JsonValue) -> None:
    level, seen = [data], 0
    for _ in range(DEEPEST):
        seen += len(level)
        if seen > MOST_VALUES:
            _refuse("$", f"It holds more than {MOST_VALUES:,} values.")
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    _refuse("$", f"It is nested more than {DEEPEST} levels deep.")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _frame_problems(document: JsonValue) -> Iterator[DocumentProblem]:
    if not isinstance(document, dict):
        yield DocumentProblem("$", "It must be an object with “openapi”, “info” and “paths”.")
        return
    if "swagger" in document:
        told = str(document["swagger"])[:20]
        yield DocumentProblem(
            "$.swagger", f"This is Swagger {told}. Convert it to OpenAPI 3.0 or 3.1 first."
        )
        return
    version = document.get("openapi")
    if version is None:
        yield DocumentProblem("$.openapi", "This must say the version of OpenAPI, as text.")
    elif not isinstance(version, str) or not _VERSION.fullmatch(version):
        yield DocumentProblem(
            "$.openapi", f"Version “{str(version)[:20]}” is not known here. Known: 3.0 and 3.1."
        )
    info = document.get("info")
    if not isinstance(info, dict):
        yield DocumentProblem("$.info", "This must be an object with the API's title.")
    elif not isinstance(info.get("title"), str) or not info["title"].strip():
        yield DocumentProblem("$.info.title", "This must be the API's title, as text.")
    yield from _part_problems(document)


def _part_problems(document: JsonObject) -> Iterator[DocumentProblem]:
    paths = document.get("paths")
    if not isinstance(paths, dict):
        yield DocumentProblem("$.paths", "This must be an object of paths.")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if path.startswith("x-"):
            continue
        if not path.startswith("/"):
            yield DocumentProblem(place("paths", path), "A path starts with “/”.")
        elif not isinstance(item, dict):
            yield DocumentProblem(place("paths", path), "This must be an object of methods.")
    for name, kind, words in (
        ("components", dict, "an object"),
        ("servers", list, "a list of servers"),
        ("security", list, "a list of requirements"),
        ("tags", list, "a list of tags"),
    ):
        if name in document and not isinstance(document[name], kind):
            yield DocumentProblem(f"$.{name}", f"This must be {words}.")


def _referred(document: JsonObject, reference: JsonValue) -> list[str]:
    target: JsonValue = document
    for part in str(reference).removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        target = target.get(key) if isinstance(target, dict) else None
    return [method for method in METHODS if isinstance(target, dict) and method in target]


def _yaml_words(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    told = str(getattr(error, "problem", None) or "it cannot be read")[:200]
    return f"{told} (line {mark.line + 1}, column {mark.column + 1})" if mark else told


def _refuse(path: str, message: str) -> NoReturn:
    raise InvalidDocument([DocumentProblem(path, message)])
