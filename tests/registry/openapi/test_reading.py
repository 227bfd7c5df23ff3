"""Documents become tools: references, schemas, parameters, bodies, sign-ins, names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from registry.importing.openapi.conformance import deviations
from registry.importing.openapi.document import MOST_OPERATIONS, read_document
from registry.importing.openapi.operations import Catalogue, chosen
from registry.importing.openapi.references import CannotTakeError
from registry.importing.openapi.servers import servers_of
from registry.schemas import check_schema
from tests.registry.openapi.reading import all_of, document_of, one, problems_in, text_of

OK = {"responses": {"200": {"description": "Fine."}}}
SOURCE = "https://docs.example/api/openapi.yaml"


def query(schema: Any, **more: Any) -> Any:
    return {**OK, "parameters": [{"name": "p", "in": "query", "schema": schema, **more}]}


def body(media: str, schema: Any, **more: Any) -> Any:
    return {**OK, "requestBody": {"content": {media: {"schema": schema}}, **more}}


def test_every_operation_of_the_petstore_is_taken_or_told() -> None:
    built, refused = all_of(read_document(text_of("petstore.yaml")))
    assert list(built) == [
        "listPets",
        "addPet",
        "GET /pets/{petId}",
        "deletePet",
        "putPhoto",
        "sendPhoto",
        "search",
        "addNote",
    ]
    assert refused == {
        "headPet": '$.paths["/pets/{petId}"].head: HEAD requests cannot be sent by a tool.',
        "far": '$.paths["/far"].get.parameters[0].$ref: “other.yaml#/Far” is in another document, '
        "which is not fetched. Bundle the documents into one.",
        "digested": "$.components.securitySchemes.digest.scheme: The HTTP sign-in “digest” cannot "
        "be sent; bearer and basic can.",
    }
    assert all(check_schema(tool.input_schema) == [] for tool in built.values())


def test_names_titles_and_tags_read_well() -> None:
    built, _ = all_of(read_document(text_of("petstore.yaml")))
    told = {key: (t.operation.name, t.operation.title, t.operation.tag) for key, t in built.items()}
    assert told["listPets"] == ("list_pets", "List the pets", "pets")
    assert told["GET /pets/{petId}"] == ("get_pets_by_pet_id", "Get pets by pet id", "pets")
    assert built["deletePet"].description.endswith("It is deprecated.")


def test_all_of_becomes_one_object_and_each_side_has_its_own_properties() -> None:
    built, _ = all_of(read_document(text_of("petstore.yaml")))
    sent = built["addPet"].input_schema["properties"]["body"]
    assert set(sent["properties"]) == {"name", "kind", "secret", "age"}
    assert sent["required"] == ["name", "kind"]
    assert sent["properties"]["kind"] == {"type": ["string", "null"], "enum": ["cat", "dog", None]}
    assert sent["properties"]["age"] == {"type": "integer", "exclusiveMinimum": 0}
    answered = built["addPet"].output_schema
    assert answered is not None
    assert set(answered["properties"]) == {"name", "id", "kind", "age"}
    assert answered["required"] == ["name", "id", "kind"]


def test_a_schema_that_holds_itself_is_cut_with_a_note() -> None:
    built, refused = all_of(read_document(text_of("tree.json")))
    assert refused == {}
    node = built["tree.write-node"].input_schema["properties"]["body"]["oneOf"][0]
    assert node["properties"]["parent"] == {
        "type": "object",
        "description": "Another “Node”, which holds itself; it is not described again.",
    }
    assert built["tree.write-node"].notes == ("Deeper parts of Node are left out.",)
    assert "$ref" not in json.dumps(built["tree.read-node"].output_schema)


def test_an_operations_own_parameters_and_server_win_over_those_around_it() -> None:
    built, _ = all_of(read_document(text_of("tree.json")), server="https://tree.example")
    assert built["tree.read-node"].input_schema["properties"]["depth"] == {
        "type": ["integer", "null"]
    }
    assert built["tree.write-node"].input_schema["properties"]["depth"] == {"type": "string"}
    far = built["GET /nodes/{id}"].definition["url"]
    assert far == "https://other.tree.example/v2/nodes/{{ args.id }}"


def test_servers_are_resolved_and_their_variables_filled() -> None:
    document = read_document(text_of("petstore.yaml"))
    assert [address for address, _ in servers_of(document, SOURCE)] == [
        "https://docs.example/v1",
        "https://eu.pets.example/v1",
        "https://us.pets.example/v1",
    ]
    assert servers_of(document_of({}), "https://a.example/x/y.json") == [("https://a.example", "")]


def test_variables_have_readable_names() -> None:
    catalogue = Catalogue(
        read_document(text_of("petstore.yaml")), package="petstore", server="https://a.example"
    )
    assert list(catalogue.security.variables) == [
        "PETSTORE_API_KEY",
        "PETSTORE_USERNAME",
        "PETSTORE_PASSWORD",
        "PETSTORE_TOKEN",
        "PETSTORE_QUERY_API_KEY",
        "PETSTORE_COOKIE_API_KEY",
    ]
    assert "X-Api-Key" in catalogue.security.variables["PETSTORE_API_KEY"]["description"]


@pytest.mark.parametrize(
    ("operation", "sent"),
    [
        (query({"type": "array", "items": {}}), "{{ args.p }}"),
        (query({"type": "array"}, style="pipeDelimited", explode=False), "join('|'"),
        (query({"type": "array"}, style="spaceDelimited", explode=False), "join(' '"),
        (query({"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}), "{{ args.p }}"),
        (query({"type": "string"}), "{{ args.p }}"),
    ],
)
def test_lists_are_sent_in_their_style(operation: Any, sent: str) -> None:
    assert sent in one(operation).definition["query"]["p"]


def test_an_object_becomes_a_parameter_for_each_of_its_properties() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b-c": {}}}
    assert one(query(schema)).definition["query"] == {
        "a": "{{ args.p.a }}",
        "b-c": '{{ args.p."b-c" }}',
    }
    assert set(one(query(schema, style="deepObject")).definition["query"]) == {"p[a]", "p[b-c]"}


def test_arguments_of_the_same_plain_name_are_told_apart() -> None:
    named = [{"name": name, "in": "query", "schema": {}} for name in ("a b", "a-b", "1")]
    assert list(one({**OK, "parameters": named}).input_schema["properties"]) == [
        "a_b",
        "a_b_2",
        "_1",
    ]


def test_a_pattern_that_cannot_be_checked_is_left_out_and_told() -> None:
    built = one(query({"type": "string", "pattern": "(a+)+(?<=b*)$("}))
    assert built.input_schema["properties"]["p"] == {"type": "string"}
    assert built.notes == ("Patterns that cannot be checked are left out.",)


def test_a_deep_schema_is_bounded() -> None:
    schema: Any = {"type": "string"}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}}
    built = one(body("application/json", schema), method="post")
    assert "Deeper parts" in built.notes[0]
    assert len(json.dumps(built.input_schema)) < 40_000


def test_references_that_double_at_each_step_end_soon() -> None:
    schemas: Any = {"S0": {"type": "string"}}
    for number in range(1, 40):
        ref = {"$ref": f"#/components/schemas/S{number - 1}"}
        schemas[f"S{number}"] = {"type": "object", "properties": {"a": ref, "b": ref}}
    operation = body("application/json", {"$ref": "#/components/schemas/S39"})
    built = one(operation, method="post", components={"schemas": schemas})
    assert "Deeper parts" in built.notes[0]


def test_references_and_alternatives_that_go_on_and_on_are_cut() -> None:
    chain: Any = {
        f"S{number}": {"$ref": f"#/components/schemas/S{number + 1}"} for number in range(2_000)
    }
    operation = body("application/json", {"$ref": "#/components/schemas/S0"})
    built = one(operation, method="post", components={"schemas": chain})
    assert "Deeper parts" in built.input_schema["properties"]["body"]["description"]
    nested: Any = {"type": "string"}
    for _ in range(150):
        nested = {"oneOf": [nested]}
    assert "Deeper parts" in one(query(nested)).notes[0]


def test_bodies_of_every_kind_are_taken() -> None:
    text = one(body("text/csv", {"type": "string"}), method="post").definition["body"]
    assert text == {
        "type": "text",
        "value": "{{ args.body }}",
        "contentType": "text/csv; charset=utf-8",
    }
    packed = one(body("application/zip", {}), method="post").definition["body"]
    assert packed == {
        "type": "binary",
        "value": "{{ args.body }}",
        "contentType": "application/zip",
    }
    files = {
        "type": "object",
        "properties": {"f": {"type": "array", "items": {"format": "binary"}}},
    }
    sent = one(body("multipart/form-data", files), method="post").definition["body"]
    assert sent == {"type": "multipart", "value": {"f": "{{ args.f }}"}, "files": ["f"]}


@pytest.mark.parametrize(
    ("operation", "more", "told"),
    [
        ({"parameters": {}}, {}, '$.paths["/x"].post.parameters: This must be a list'),
        ({"parameters": [{"in": "query"}]}, {}, ".parameters[0].name: A parameter must have"),
        ({"parameters": [{"name": "a", "in": "body"}]}, {}, ".parameters[0].in: A parameter is in"),
        ({"parameters": [{"$ref": "#/nowhere"}]}, {}, ".parameters[0].$ref: “#/nowhere” is not"),
        ({"parameters": [{"$ref": "#/x-a"}]}, {"x-a": {"$ref": "#/x-a"}}, "round in a circle"),
        (query({"type": "object"}), {}, ".parameters[0]: The object “p” cannot be sent"),
        (query({"$ref": "http://a/b"}), {}, "“http://a/b” is in another document"),
        (query(5), {}, ".parameters[0].schema: A schema must be an object."),
        ({"requestBody": []}, {}, ".requestBody: This must be an object."),
        ({"requestBody": {}}, {}, ".requestBody.content: This must be an object of media types."),
        (body("multipart/form-data", {"type": "object"}), {}, "A form must name its fields"),
        ({"security": [{"no": []}]}, {}, ".security[0]: The security scheme “no” is not"),
        ({"security": "key"}, {}, ".security: This must be a list of requirements."),
        ({"servers": [{}]}, {}, ".servers[0]: A server must be an object with a “url”."),
        ({"servers": [{"url": "/relative"}]}, {}, "“/relative” is not a full address"),
        (
            {"servers": [{"url": "https://{a}.example"}]},
            {},
            ".servers[0].variables.a: A variable of a server must have a “default”",
        ),
    ],
)
def test_what_cannot_be_taken_says_why_and_where(operation: Any, more: Any, told: str) -> None:
    with pytest.raises(CannotTakeError) as refusal:
        one({**OK, **operation}, method="post", **more)
    assert told in f"{refusal.value.path}: {refusal.value.why}"


def test_a_path_whose_parameter_is_not_described_is_refused() -> None:
    with pytest.raises(CannotTakeError, match=r"“\{id\}” is not among the parameters"):
        one(OK, path="/a/{id}")


@pytest.mark.parametrize(
    ("content", "path", "message"),
    [
        ("", "$", "must be an object"),
        ("[]", "$", "must be an object"),
        ("{", "$", "It is no JSON"),
        ("a: [", "$", "It is no YAML"),
        (b"\xff\xfe", "$", "not text in UTF-8"),
        ("a: !!python/object:os.system {}", "$", "It is no YAML"),
        ("[" * 100_000, "$", ""),
        ("a: " + "[" * 1_000, "$", "nested more than 200 levels"),
        ("a: &a [*a]", "$", "nested more than 200 levels"),
        ("swagger: '2.0'", "$.swagger", "This is Swagger 2.0. Convert it"),
        ("info: {title: T}\npaths: {}", "$.openapi", "must say the version"),
        ("openapi: 4.0.0\ninfo: {title: T}\npaths: {}", "$.openapi", "“4.0.0” is not known"),
        ("openapi: 3.0.0\npaths: {}", "$.info", "must be an object"),
        ("openapi: 3.0.0\ninfo: {}\npaths: {}", "$.info.title", "title, as text"),
        ("openapi: 3.0.0\ninfo: {title: T}", "$.paths", "object of paths"),
        ("openapi: 3.0.0\ninfo: {title: T}\npaths: {}", "$.paths", "has no operation"),
        ("openapi: 3.0.0\ninfo: {title: T}\npaths: {x: {}}", "$.paths.x", "starts with"),
        ("openapi: 3.0.0\ninfo: {title: T}\npaths: {/x: 5}", '$.paths["/x"]', "object of methods"),
        ("openapi: 3.0.0\ninfo: {title: T}\nservers: 5\npaths: {}", "$.servers", "list of servers"),
    ],
)
def test_a_bad_document_is_told_by_its_place(content: Any, path: str, message: str) -> None:
    found = problems_in(content)
    assert message in found[path]


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    for number in range(1, 10):
        copies = ",".join([f"*a{number - 1}"] * 10)
        lines.append(f"a{number}: &a{number} [{copies}]")
    assert "more than 500,000 values" in problems_in("\n".join(lines))["$"]


def test_merges_that_double_are_refused_and_others_are_put_in() -> None:
    lines = ["a0: &a0 {x: 1, y: 2}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40)]
    assert "too many keys are merged by <<" in problems_in("\n".join(lines))["$"]
    text = (
        "openapi: 3.0.0\ninfo: {title: T}\nx-a: &a {summary: S}\n"
        "paths: {/x: {get: {<<: *a, x-b: [yes, 1:30, 2020-01-01, 1.5, 7, ~, true]}}}"
    )
    operation = read_document(text)["paths"]["/x"]["get"]
    assert operation["summary"] == "S"
    assert operation["x-b"] == ["yes", "1:30", "2020-01-01", 1.5, 7, None, True]


@pytest.mark.parametrize("tag", ["int", "float"])
def test_numbers_in_sixties_are_no_work(tag: str) -> None:
    assert "cannot be read" in problems_in(f'a: !!{tag} "{"1:" * 1_000_000}1"')["$"]


def test_a_document_that_is_too_large_is_refused() -> None:
    assert "at most 5,000,000 fit" in problems_in(b" " * 5_000_001)["$"]
    paths = {f"/{number}": {"get": OK} for number in range(MOST_OPERATIONS + 1)}
    found = problems_in(json.dumps(document_of(paths)))
    assert "1,001 operations; at most 1,000 fit" in found["$.paths"]


def test_hundreds_of_operations_are_all_taken() -> None:
    paths = {f"/things{number}/{{id}}": {"get": query({})} for number in range(500)}
    for item in paths.values():
        item["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {}}]
    built, refused = all_of(document_of(paths))
    assert (len(built), refused) == (500, {})
    assert len({tool.operation.name for tool in built.values()}) == 500


def test_a_selection_names_operations_in_three_ways() -> None:
    catalogue = Catalogue(
        read_document(text_of("petstore.yaml")), package="p", server="https://a.example"
    )
    found, unknown = chosen(
        catalogue.operations, ["addNote", "GET /pets", "tag:pets", "nothing", "addNote"]
    )
    keys = [operation.key for operation in found]
    assert keys == ["listPets", "addPet", "GET /pets/{petId}", "addNote"]
    assert unknown == ["nothing"]


def test_deviations_from_the_specification_are_told_and_do_no_harm() -> None:
    document = document_of({"/x": {"get": {"responses": {"200": {}}}}})
    catalogue = Catalogue(document, package="p", server="https://a.example")
    told = list(deviations(document, catalogue.operations))
    assert told[0].path.startswith('$.paths["/x"].get.responses')
    assert catalogue.build(catalogue.operations[0]).definition["method"] == "GET"
    modern = document_of({"/x": {"get": {"operationId": 5}}}, version="3.1.0")
    assert [problem.path for problem in deviations(modern, catalogue.operations)] == [
        '$.paths["/x"].get.operationId'
    ]
