"""The operations of a document, each as the HTTP tool that it becomes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from config.lib.jsontext import size_of
from config.lib.types import JsonObject, JsonSchema
from registry.api_definition import NO_INPUT, ApiInvalid, parse, to_json
from registry.api_rules import rule_problems
from registry.importing.openapi.bodies import Bodies
from registry.importing.openapi.document import operations_in, place
from registry.importing.openapi.inlining import Inliner
from registry.importing.openapi.naming import title_from, tool_name
from registry.importing.openapi.parameters import Parameters, path_of
from registry.importing.openapi.references import CannotTakeError, References
from registry.importing.openapi.security import Security
from registry.importing.openapi.servers import first_server, server_problem
from registry.schemas import canonical_digest

SENDABLE = ("get", "post", "put", "patch", "delete")
LARGEST_DEFINITION = 100_000
LONGEST_KEY = 128
LONGEST_DESCRIPTION = 4_000
LONGEST_CATEGORY = 64
TIMEOUT = 30


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation as a person chooses it. `key` stays the same when the document changes."""

    key: str
    name: str
    method: str
    path: str
    title: str
    summary: str
    tag: str
    deprecated: bool
    place: str


@dataclass(frozen=True, kw_only=True)
class Built:
    """An operation as the row of a tool says it."""

    operation: Operation
    description: str
    input_schema: JsonSchema
    output_schema: JsonSchema | None
    definition: JsonObject
    server: str
    notes: tuple[str, ...]


class Catalogue:
    """Reads the operations of one checked document.

    `package` names the variables, `source` is the document's address (or ""), `server` is where
    requests go, except those of operations that name a server of their own.
    """

    def __init__(
        self, document: JsonObject, *, package: str, server: str = "", source: str = ""
    ) -> None:
        self._document = document
        self._references = References(document)
        inliner = Inliner(self._references, is_30=document["openapi"].startswith("3.0"))
        self._parameters = Parameters(self._references, inliner)
        self._bodies = Bodies(self._references, inliner)
        self.security = Security(self._references, package)
        self._server = server
        self._source = source
        self.operations = self._listed()

    def build(self, operation: Operation) -> Built:
        """Return an operation as a tool; raise CannotTakeError with the place and the reason."""
        if operation.method not in SENDABLE:
            raise CannotTakeError(
                operation.place,
                f"{operation.method.upper()} requests cannot be sent by a tool.",
            )
        item, given = self._raw(operation)
        item_place = place("paths", operation.path)
        server, where = self._server_for(item, given, (item_place, operation.place))
        if problem := server_problem(server):
            raise CannotTakeError(where, problem)
        sign_in = self.security.sign_in(given, operation.place)
        inputs = self._parameters.read(
            item, given, paths=(item_place, operation.place), secured=sign_in.secured
        )
        path = path_of(operation.path, inputs.path, item_place)
        body = None
        if operation.method != "get":
            body = self._bodies.body_of(given, operation.place, inputs)
        elif "requestBody" in given:
            if self._references.followed(given["requestBody"], operation.place).get("required"):
                raise CannotTakeError(
                    f"{operation.place}.requestBody", "A GET request cannot send a body."
                )
            inputs.notes.append("Its optional body is left out: a GET request sends none.")
        definition = {
            "method": operation.method.upper(),
            "url": server + path,
            "query": inputs.query,
            "headers": inputs.headers,
            "timeoutSeconds": TIMEOUT,
            **({"cookies": inputs.cookies} if inputs.cookies else {}),
            **({"body": body} if body else {}),
            **sign_in.parts,
        }
        schema = inputs.schema if inputs.properties else NO_INPUT
        return Built(
            operation=operation,
            description=_description(operation, given),
            input_schema=schema,
            output_schema=self._bodies.output_schema(given, operation.place),
            definition=_checked(definition, schema, operation),
            server=server,
            notes=tuple(dict.fromkeys(inputs.notes)),
        )

    def _listed(self) -> list[Operation]:
        found = list(operations_in(self._document))
        ids = Counter(self._operation_id(path, method) for path, method in found)
        names: set[str] = set()
        listed = []
        for path, method in found:
            operation_id = self._operation_id(path, method)
            is_named = bool(operation_id) and ids[operation_id] == 1
            listed.append(self._operation(path, method, operation_id if is_named else "", names))
        return listed

    def _operation(self, path: str, method: str, operation_id: str, names: set[str]) -> Operation:
        where = place("paths", path, method)
        try:
            item = self._references.followed(self._document["paths"][path], where)
            given = item.get(method)
        except CannotTakeError:
            given = None
        given = given if isinstance(given, dict) else {}
        summary = _text(given.get("summary")) or _text(given.get("description")).partition("\n")[0]
        tags = given.get("tags")
        tag = str(tags[0]) if isinstance(tags, list) and tags else ""
        return Operation(
            key=_key(operation_id or f"{method.upper()} {path}"),
            name=_free(tool_name(operation_id, method, path), names),
            method=method,
            path=path,
            title=title_from(_text(given.get("summary")), operation_id, method, path),
            summary=" ".join(summary.split())[:200],
            tag=" ".join(tag.split())[:LONGEST_CATEGORY],
            deprecated=given.get("deprecated") is True,
            place=where,
        )

    def _operation_id(self, path: str, method: str) -> str:
        item = self._document["paths"][path]
        given = item.get(method) if isinstance(item, dict) else None
        named = given.get("operationId") if isinstance(given, dict) else None
        return named.strip() if isinstance(named, str) else ""

    def _raw(self, operation: Operation) -> tuple[JsonObject, JsonObject]:
        item_place = place("paths", operation.path)
        item = self._references.followed(self._document["paths"][operation.path], item_place)
        given = item.get(operation.method)
        if not isinstance(given, dict):
            raise CannotTakeError(operation.place, "An operation must be an object.")
        return item, given

    def _server_for(
        self, item: JsonObject, given: JsonObject, places: tuple[str, str]
    ) -> tuple[str, str]:
        for holder, path in ((given, places[1]), (item, places[0])):
            if holder.get("servers"):
                where = f"{path}.servers"
                return first_server(holder["servers"], where, self._source), where
        return self._server, "$.servers"


def chosen(
    operations: Sequence[Operation], selection: Sequence[str] | None
) -> tuple[list[Operation], list[str]]:
    """Return the selected operations (None: all), and the entries that name none.

    An entry is a key, `METHOD /path`, or `tag:NAME`.
    """
    if selection is None:
        return list(operations), []
    by_name: dict[str, list[Operation]] = {}
    for operation in operations:
        for name in {operation.key, f"{operation.method.upper()} {operation.path}"}:
            by_name.setdefault(name, []).append(operation)
        by_name.setdefault(f"tag:{operation.tag}", []).append(operation)
    found = {item.key: item for entry in selection for item in by_name.get(entry, ())}
    return [o for o in operations if o.key in found], [e for e in selection if e not in by_name]


def _checked(definition: JsonObject, schema: JsonSchema, operation: Operation) -> JsonObject:
    """Return the definition as the executor takes it; raise CannotTakeError where it does not."""
    try:
        parsed = parse(definition)
    except ApiInvalid as error:
        raise CannotTakeError(operation.place, _first(error)) from None
    if problems := list(rule_problems(parsed, schema)):
        raise CannotTakeError(operation.place, _first(ApiInvalid(problems)))
    if max(size_of(schema), size_of(definition)) > LARGEST_DEFINITION:
        raise CannotTakeError(operation.place, "Its input schema is too large.")
    return to_json(parsed)


def _first(error: ApiInvalid) -> str:
    problem = error.problems[0]
    return f"{problem.path.removeprefix('$.definition.')}: {problem.message}"


def _description(operation: Operation, given: JsonObject) -> str:
    summary, told = _text(given.get("summary")), _text(given.get("description"))
    parts = [summary, "" if told == summary else told]
    parts += ["It is deprecated."] if operation.deprecated else []
    described = "\n\n".join(part for part in parts if part)[:LONGEST_DESCRIPTION]
    return described or f"{operation.title} ({operation.method.upper()} {operation.path})."


def _key(name: str) -> str:
    if len(name) <= LONGEST_KEY:
        return name
    return f"{name[: LONGEST_KEY - 9]}-{canonical_digest(name)[:8]}"


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
