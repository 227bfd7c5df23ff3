"""Request bodies as arguments, and answers as output schemas."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.importing.openapi.inlining import Inliner
from registry.importing.openapi.parameters import Inputs, members_of
from registry.importing.openapi.references import CannotTakeError, References

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
BASE64 = "As base64."
MOST_FIELDS = 50
"""Fields that a form of an HTTP tool may have."""


class Bodies:
    """Reads the bodies of one document's operations."""

    def __init__(self, references: References, inliner: Inliner) -> None:
        self._references = references
        self._inliner = inliner

    def body_of(self, operation: JsonObject, path: str, inputs: Inputs) -> JsonObject | None:
        """Add what the body takes to `inputs` and return the body of the definition.

        Of several media types JSON is preferred, then forms, text, and bytes. Raises
        CannotTakeError.
        """
        if "requestBody" not in operation:
            return None
        path = f"{path}.requestBody"
        given = self._references.followed(operation["requestBody"], path)
        content = given.get("content")
        if not isinstance(content, dict):
            raise CannotTakeError(f"{path}.content", "This must be an object of media types.")
        if not content:
            return None
        media, entry = _preferred(content)
        path = f'{path}.content["{media}"]'
        if not isinstance(entry, dict):
            raise CannotTakeError(path, "This must be an object with a “schema”.")
        inlined = self._inliner.inlined(entry.get("schema", {}), f"{path}.schema", "request")
        inputs.notes += inlined.notes
        schema = inlined.schema if isinstance(inlined.schema, dict) else {}
        told = given.get("description")
        if isinstance(told, str) and told.strip() and "description" not in schema:
            schema = {**schema, "description": told.strip()[:2_000]}
        required = given.get("required") is True
        kind = media.partition(";")[0].strip().lower()
        if _is_json(kind):
            argument = inputs.add("body", schema, required=required)
            if kind != "application/json":
                inputs.headers["Content-Type"] = media
            return {"type": "json", "value": f"{{{{ args.{argument} }}}}"}
        if kind in (FORM, MULTIPART):
            return self._form(kind, schema, path, inputs, required=required)
        if kind.startswith("text/") or kind.endswith(("/xml", "+xml", "/yaml", "/x-yaml")):
            text = {"type": "string", **_words(schema)}
            argument = inputs.add("body", text, required=required)
            sent = media if "charset" in media else f"{media}; charset=utf-8"
            return {"type": "text", "value": f"{{{{ args.{argument} }}}}", "contentType": sent}
        argument = inputs.add("body", _base64(schema), required=required)
        sent = "application/octet-stream" if "*" in media else media
        return {"type": "binary", "value": f"{{{{ args.{argument} }}}}", "contentType": sent}

    def output_schema(self, operation: JsonObject, path: str) -> JsonSchema | None:
        """Return the schema of the first success that answers with JSON, where it has one."""
        responses = operation.get("responses")
        if not isinstance(responses, dict):
            return None
        for status in [*sorted(s for s in responses if s.startswith("2")), "default"]:
            if status not in responses:
                continue
            place = f'{path}.responses["{status}"]'
            try:
                schema = self._answer(responses[status], place)
            except CannotTakeError:  # what is said of the answer is no reason not to ask
                return None
            if schema is not None or status != "default":
                return schema
        return None

    def _answer(self, response: JsonValue, path: str) -> JsonSchema | None:
        content = self._references.followed(response, path).get("content")
        for media, entry in content.items() if isinstance(content, dict) else ():
            if _is_json(media.partition(";")[0].strip().lower()) and isinstance(entry, dict):
                if "schema" not in entry:
                    return None
                inlined = self._inliner.inlined(entry["schema"], f"{path}.content", "response")
                return inlined.schema if isinstance(inlined.schema, dict) else None
        return None

    def _form(
        self, kind: str, schema: JsonSchema, path: str, inputs: Inputs, *, required: bool
    ) -> JsonObject:
        members = members_of(schema)
        if not members:
            raise CannotTakeError(f"{path}.schema", "A form must name its fields as properties.")
        if len(members) > MOST_FIELDS:
            raise CannotTakeError(
                f"{path}.schema",
                f"A form of {len(members)} fields cannot be sent; at most {MOST_FIELDS} fit.",
            )
        needed = schema.get("required", []) if required or kind == MULTIPART else []
        fields, files = {}, []
        for name, inner in members.items():
            is_file = kind == MULTIPART and _is_binary(inner)
            taken = _base64(inner) if is_file else inner
            argument = inputs.add(name, taken, required=name in needed)
            fields[name] = f"{{{{ args.{argument} }}}}"
            if is_file:
                files.append(name)
        if kind == FORM:
            return {"type": "form", "value": fields}
        return {"type": "multipart", "value": fields, "files": files}


def _preferred(content: Mapping[str, JsonValue]) -> tuple[str, JsonValue]:
    def rank(media: str) -> int:
        kind = media.partition(";")[0].strip().lower()
        ranks = [_is_json(kind), kind == FORM, kind == MULTIPART, kind.startswith("text/")]
        return ranks.index(True) if True in ranks else len(ranks)

    media = min(content, key=rank)  # the first one of those that rank alike
    return media, content[media]


def _is_json(kind: str) -> bool:
    return kind in ("application/json", "*/*", "application/*") or kind.endswith("+json")


def _is_binary(schema: JsonValue) -> bool:
    parts = list(_parts(schema))
    return any(
        part.get("format") == "binary"
        or ("contentMediaType" in part and "contentEncoding" not in part)
        for part in parts
    )


def _parts(schema: JsonValue) -> Iterator[JsonObject]:
    if isinstance(schema, dict):
        yield schema
        yield from _parts(schema.get("items"))
        for key in ("anyOf", "oneOf"):
            for part in schema.get(key) or ():
                yield from _parts(part)


def _base64(schema: JsonValue) -> JsonSchema:
    given = schema if isinstance(schema, dict) else {}
    if given.get("type") == "array":
        return {"type": "array", "items": {"type": "string", "contentEncoding": "base64"},
                "description": f"{given.get('description') or 'Files.'} {BASE64}"}  # fmt: skip
    told = f"{given.get('description') or ''} {BASE64}".strip()
    return {"type": "string", "contentEncoding": "base64", "description": told}


def _words(schema: JsonSchema) -> JsonObject:
    return {key: schema[key] for key in ("title", "description", "examples") if key in schema}
