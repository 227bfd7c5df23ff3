"""Read labelled sets of queries: the tools and what each query should find, as JSON lines.

A tool is `{"id", "name", "description"}`, a query `{"id", "query", "relevant": [tool ids]}`; an
empty `relevant` says that nothing should be found. The other fields are in
`docs/how-to/search.md`; what is not known is passed over, so that sets of others can be used.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from config.lib.errors import InvalidInput
from registry.search.document import SearchDocument
from registry.search.need import Need

T = TypeVar("T")

FORMAT_HINT = "docs/how-to/search.md shows the format."


@dataclass(frozen=True, kw_only=True)
class LabelledQuery:
    """A query and the ids of the tools that it should find; none: nothing should be found."""

    id: str
    query: str
    relevant: frozenset[str]
    history: tuple[str, ...] = ()
    kind: str = ""

    @property
    def need(self) -> Need:
        """Return it as search takes it."""
        return Need(text=self.query, recent=self.history)


def read_tools(path: Path) -> list[SearchDocument]:
    """Read the tools of a set. Raises InvalidInput, which names the file and the line."""
    tools: dict[str, SearchDocument] = {}
    for line in _lines(path):
        tool = document_from(line)
        if tool.id in tools:
            raise line.wrong(f"There is a second tool with the id {tool.id!r}.")
        tools[tool.id] = tool
    return _some(list(tools.values()), path, "tool")


def read_queries(path: Path, tool_ids: Collection[str]) -> list[LabelledQuery]:
    """Read the queries of a set. Raises InvalidInput, which names the file and the line."""
    known = frozenset(tool_ids)
    queries = []
    for line in _lines(path):
        relevant = line.texts("relevant", required=True)
        if unknown := sorted(set(relevant) - known):
            raise line.wrong(f"“relevant” names {unknown[0]!r}, which no tool has as its id.")
        query = LabelledQuery(
            id=line.text("id", required=True),
            query=line.text("query", required=True),
            relevant=frozenset(relevant),
            history=line.texts("history"),
            kind=line.text("kind"),
        )
        queries.append(query)
    return _some(queries, path, "query")


@dataclass(frozen=True)
class Line:
    """One line of a file, read as a JSON object."""

    path: Path
    number: int
    values: Mapping[str, Any]

    def wrong(self, message: str) -> InvalidInput:
        """Return the error that says what is wrong with the line."""
        return InvalidInput(f"{self.path}, line {self.number}: {message}", FORMAT_HINT)

    def text(self, name: str, *, required: bool = False) -> str:
        """Return a text, or a number as text; empty where it is missing or null."""
        value = self.values.get(name)
        if value is None and not required:
            return ""
        if value is None:
            raise self.wrong(f"“{name}” is missing.")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(f"“{name}” must be a text.")
        return str(value)

    def texts(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a list of texts; messages may be `{"role", "content"}` as chats have them."""
        value = self.values.get(name)
        if value is None and not required:
            return ()
        if value is None:
            raise self.wrong(f"“{name}” is missing.")
        if isinstance(value, str):
            return (value,)
        items = [_said(item) for item in value] if isinstance(value, list) else [None]
        texts = tuple(item for item in items if item is not None)
        if len(texts) != len(items):
            raise self.wrong(f"“{name}” must be a list of texts.")
        return texts


def document_from(line: Line) -> SearchDocument:
    """Return what the index keeps of a tool; raises InvalidInput where a field is missing."""
    names, told = _parameters(line)
    guidance = line.values.get("aiAgent")
    guided = Line(line.path, line.number, guidance) if isinstance(guidance, dict) else line
    return SearchDocument(
        id=line.text("id", required=True),
        name=line.text("name", required=True),
        title=line.text("title"),
        description=line.text("description", required=True),
        category=line.text("category"),
        package=line.text("package"),
        package_description=line.text("package_description"),
        parameters=names,
        parameter_descriptions=told,
        returns=_returns(line),
        use_case=line.text("use_case") or guided.text("useCase"),
        limitations=line.text("limitations") or guided.text("limitations"),
        examples=line.texts("examples") or guided.texts("examples"),
    )


def line_of(document: SearchDocument) -> dict[str, Any]:
    """Return a tool as a line of a set; what is empty is left out.

    Parameters and their descriptions are two lists in the index, of which only the order of the
    described ones is known; so they are written as such.
    """
    values = {
        "id": document.id,
        "name": document.name,
        "title": document.title,
        "description": document.description,
        "category": document.category,
        "package": document.package,
        "package_description": document.package_description,
        "parameters": list(document.parameters),
        "parameter_descriptions": list(document.parameter_descriptions),
        "returns": document.returns,
        "use_case": document.use_case,
        "limitations": document.limitations,
        "examples": list(document.examples),
    }
    needed = ("id", "name", "description")
    return {name: value for name, value in values.items() if value or name in needed}


def _parameters(line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names and the descriptions of the parameters.

    They are a list of `{name, type, description}`, a list of names, or a JSON Schema.
    """
    value = line.values.get("parameters")
    described = line.texts("parameter_descriptions")
    if value is None:
        return (), described
    if isinstance(value, dict):
        properties = value.get("properties", value)
        if not isinstance(properties, dict):
            raise line.wrong("“properties” of “parameters” must be an object.")
        value = [
            {"name": name, **(item if isinstance(item, dict) else {})}
            for name, item in properties.items()
        ]
    if not isinstance(value, list):
        raise line.wrong("“parameters” must be a list or a JSON Schema.")
    names, told = [], list(described)
    for item in value:
        name = item.get("name") if isinstance(item, dict) else item
        if not isinstance(name, str):
            raise line.wrong("Each of “parameters” must have a “name”.")
        names.append(name)
        if isinstance(item, dict) and isinstance(item.get("description"), str):
            told.append(item["description"])
    return tuple(names), tuple(text for text in told if text)


def _returns(line: Line) -> str:
    value = line.values.get("returns")
    if isinstance(value, dict):
        texts = [value.get("description"), *(value.get("properties") or {})]
        return " ".join(text for text in texts if isinstance(text, str))
    return line.text("returns")


def _said(item: Any) -> str | None:
    if isinstance(item, dict):
        item = item.get("content", item.get("input"))
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        return None
    return str(item)


def _lines(path: Path) -> Iterator[Line]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}.", FORMAT_HINT) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", FORMAT_HINT) from None
    # not splitlines(), which also splits at characters that may stand in a JSON text
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{path}, line {number}: This is not JSON: {error}.", FORMAT_HINT
            ) from None
        if not isinstance(values, dict):
            raise InvalidInput(f"{path}, line {number}: This is not a JSON object.", FORMAT_HINT)
        yield Line(path, number, values)


def _some(items: list[T], path: Path, what: str) -> list[T]:
    if not items:
        raise InvalidInput(f"{path} holds no {what}.", FORMAT_HINT)
    return items
