"""Documents imported through every door and their tools called, on a real server on loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from config.lib.addresses import parse_allowed
from config.lib.errors import DomainError
from registry.context import CallContext
from registry.execution import invoke
from registry.importing.jobs import import_request, import_run
from registry.loading import load_spec
from registry.models import ApiDocument, ImportJob, Package, Tool
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.results import Failed, Succeeded
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from registry.services import package_review
from tests.fakes.web_server import WebServer, serving
from tests.registry.openapi.reading import DOCUMENTS, document_of, text_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django.fixtures import SettingsWrapper

SignIn = Callable[["User"], Client]
Call = Callable[..., Any]

VALUES = {
    "PETSTORE_API_KEY": "canary-key",
    "PETSTORE_USERNAME": "me",
    "PETSTORE_PASSWORD": "canary-password",
    "PETSTORE_TOKEN": "canary-token",
    "PETSTORE_QUERY_API_KEY": "canary-query",
    "PETSTORE_COOKIE_API_KEY": "canary cookie",
}
FINE = {"responses": {"200": {"description": "Fine."}}}


@pytest.fixture
def web(settings: SettingsWrapper) -> Iterator[WebServer]:
    with serving() as server:
        settings.OUTBOUND_ALLOW = parse_allowed(f"127.0.0.1:{server.port}")
        server.on("/api/openapi.yaml", lambda it: it.answer(text_of("petstore.yaml")))
        yield server


def imported(user: User | None, name: str = "petstore", **settings: Any) -> ImportJob:
    """Import here and now; the job tells what was done."""
    job = import_request(
        ecosystem="openapi", name=name, settings=settings or None, user=user, queued=False
    )
    import_run(job.pk)
    job.refresh_from_db()
    return job


def done(job: ImportJob) -> dict[str, str]:
    """Return operation → what was done."""
    assert job.error is None, job.error
    return {entry["export"]: entry["status"] for entry in job.report}


@pytest.fixture
def call(governor: User, web: WebServer) -> Call:
    """Import all of the petstore; return a function that calls one operation and the request."""
    job = imported(governor, url=f"{web.url}/api/openapi.yaml", selection="all")
    assert job.error is None, job.error

    def run(export: str, arguments: Any = None, values: Any = None) -> Any:
        tool = Tool.objects.get(export_name=export, deleted_at=None)
        held = VALUES if values is None else values
        context = CallContext(
            user=governor,
            caller=Caller.BROWSER,
            env=lambda names: {name: held[name] for name in names if name in held},
        )
        result = invoke(load_spec(tool), arguments or {}, context)
        return result, web.asked[-1]

    return run


def test_an_import_tells_of_every_operation(call: Call) -> None:
    job = ImportJob.objects.get()
    assert list(done(job).values()).count("added") == 8
    assert [entry["export"] for entry in job.report if entry["status"] == "refused"] == [
        "headPet",
        "far",
        "digested",
    ]
    package = Package.objects.get()
    assert package.review_status == ReviewStatus.CANDIDATE
    assert (package.version, package.settings["selection"]) == ("2024-05-01", "all")
    assert [item["name"] for item in package.env] == list(VALUES)


def test_a_query_with_lists_objects_headers_cookies_and_a_key(call: Call, web: WebServer) -> None:
    web.on("/v1/pets", lambda it: it.json("[]"))
    result, asked = call(
        "listPets",
        {
            "tags": ["a b", "c"],
            "ids": [1, 2],
            "filter": {"name": "Rex", "first-seen": "2020-01-01"},
            "X_Trace": "t1",
            "session": "s;1",
        },
    )
    assert isinstance(result, Succeeded), result
    assert parse_qs(urlsplit(asked.path).query) == {
        "tags": ["a b", "c"],
        "ids": ["1,2"],
        "limit": ["20"],
        "filter[name]": ["Rex"],
        "filter[first-seen]": ["2020-01-01"],
    }
    headers = asked.headers
    assert (headers["x-api-key"], headers["x-trace"]) == ("canary-key", "t1")
    assert headers["cookie"] == "session=s%3B1"


def test_what_is_not_given_is_not_sent(call: Call, web: WebServer) -> None:
    web.on("/v1/pets", lambda it: it.json("[]"))
    _, asked = call("listPets")
    assert asked.path == "/v1/pets?limit=20"
    assert "cookie" not in asked.headers


def test_a_json_body_goes_as_it_is(call: Call, web: WebServer) -> None:
    web.on("/v1/pets", lambda it: it.json('{"id": 1}'))
    result, asked = call("addPet", {"body": {"name": "Rex", "kind": None}})
    assert isinstance(result, Succeeded), result
    assert json.loads(asked.body) == {"name": "Rex", "kind": None}


def test_wrong_arguments_are_refused_before_anything_is_sent(call: Call, web: WebServer) -> None:
    result, asked = call("addPet", {"body": {"name": "Rex", "kind": "cow"}})
    assert isinstance(result, Failed)
    assert result.error.code == "invalid_arguments"
    assert asked.path == "/api/openapi.yaml"


def test_bytes_are_sent_unpacked(call: Call, web: WebServer) -> None:
    web.on("/v1/pets/7/photo", lambda it: it.answer(status=204))
    packed = base64.b64encode(b"\x89PNG\x00").decode()
    _, asked = call("putPhoto", {"petId": 7, "body": packed})
    assert (asked.body, asked.headers["content-type"]) == (b"\x89PNG\x00", "image/png")
    result, _ = call("putPhoto", {"petId": 7, "body": "!!"})
    assert isinstance(result, Failed)
    assert "is not base64" in result.error.message


def test_a_form_with_a_file_is_sent_and_signing_in_is_optional(call: Call, web: WebServer) -> None:
    web.on("/v1/pets/7/photo", lambda it: it.answer(status=204))
    photo = base64.b64encode(b"\x89PNG").decode()
    given = {"petId": 7, "photo": photo, "caption": "Rüdiger"}
    result, asked = call("sendPhoto", given, {})
    assert isinstance(result, Succeeded), result
    assert asked.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="photo"; filename="photo"' in asked.body
    assert b"\x89PNG" in asked.body
    assert "Rüdiger".encode() in asked.body
    assert "authorization" not in asked.headers
    _, asked = call("sendPhoto", given)
    assert asked.headers["authorization"] == "Bearer canary-token"


def test_two_keys_of_one_sign_in_are_both_sent(call: Call, web: WebServer) -> None:
    web.on("/v1/search", lambda it: it.json("[]"))
    _, asked = call("search", {"q": "a&b", "sort": ["x", "y"]})
    assert asked.body == b"q=a%26b&sort=x&sort=y"
    assert asked.path == "/v1/search?key=canary-query"
    assert asked.headers["cookie"] == "sid=canary%20cookie"
    result, _ = call("search", {"q": "a"}, {"PETSTORE_QUERY_API_KEY": "k"})
    assert isinstance(result, Failed)
    assert result.error.extra["missing"] == ["PETSTORE_COOKIE_API_KEY"]


def test_text_is_sent_as_text_and_basic_signs_in(call: Call, web: WebServer) -> None:
    web.on("/v1/notes", lambda it: it.json("{}"))
    _, asked = call("addNote", {"body": "a note"}, {})
    assert (asked.body, asked.headers["content-type"]) == (
        b"a note",
        "text/plain; charset=utf-8",
    )
    web.on("/v1/pets/7", lambda it: it.answer(status=204))
    _, asked = call("deletePet", {"petId": 7})
    login = base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")).decode()
    assert login == "me:canary-password"


def test_secrets_are_masked_where_the_server_repeats_them(call: Call, web: WebServer) -> None:
    web.on("/v1/search", lambda it: it.answer(it.asked.headers["cookie"], status=400))
    result, _ = call("search", {"q": "a"})
    assert isinstance(result, Failed)
    assert "canary" not in json.dumps(result.error.as_dict())


def test_nobody_but_a_reviewer_gives_it_network(
    alice: User, governor: User, web: WebServer
) -> None:
    imported(alice, url=f"{web.url}/api/openapi.yaml", selection=["GET /pets/{petId}"])
    package = Package.objects.get()
    assert package.allowed_hosts == []
    page = Client()
    page.force_login(governor)
    assert f"127.0.0.1:{web.port}" in page.get(f"/packages/{package.pk}/").content.decode()
    tool = Tool.objects.get()
    context = CallContext(user=alice, caller=Caller.BROWSER, env=lambda names: VALUES)
    result = invoke(load_spec(tool), {"petId": 1}, context)
    assert isinstance(result, Failed)
    assert result.error.code == "host_refused"
    imported(governor, "other", url=f"{web.url}/api/openapi.yaml", selection=["addNote"])
    assert Package.objects.get(name="other").allowed_hosts == [f"127.0.0.1:{web.port}"]


def test_importing_again_updates_and_never_doubles(
    alice: User, governor: User, web: WebServer
) -> None:
    url = f"{web.url}/api/openapi.yaml"
    imported(alice, url=url, selection=["listPets", "addNote", "search"])
    package_review(Package.objects.get(), status=ReviewStatus.APPROVED)
    before = dict(Tool.objects.values_list("export_name", "wire_name"))
    assert before["listPets"] == "petstore-list_pets"
    assert set(done(imported(alice)).values()) == {"unchanged"}
    assert Package.objects.get().review_status == ReviewStatus.APPROVED

    changed = text_of("petstore.yaml").replace(b"List the pets", b"Show the pets")
    changed = changed.replace(b"operationId: search", b"operationId: find")
    web.on("/api/openapi.yaml", lambda it: it.answer(changed))
    assert done(imported(alice)) == {
        "listPets": "proposed",
        "addNote": "unchanged",
        "search": "proposed",
    }
    package = Package.objects.get()
    assert package.review_status == ReviewStatus.APPROVED
    assert Tool.objects.filter(deleted_at=None).count() == 3
    proposal = open_proposal_of(package)
    assert proposal is not None
    assert proposal.after["allowed_hosts"] == proposal.before["allowed_hosts"] == []
    proposal_approve(proposal, by=governor, reason="")
    package.refresh_from_db()
    assert package.settings["selection"] == ["listPets", "addNote", "search"]
    assert set(Tool.objects.filter(deleted_at=None).values_list("wire_name", flat=True)) == {
        before["listPets"],
        before["addNote"],
    }
    assert Tool.objects.count() == 3


def test_another_choice_takes_tools_out_and_brings_them_back(alice: User) -> None:
    document = text_of("petstore.yaml").decode()
    server = "https://pets.example/v1"
    imported(alice, document=document, selection=["addNote", "search"], server=server)
    job = imported(alice, document=document, selection=["addNote"])
    assert done(job) == {"addNote": "unchanged", "search": "removed"}
    assert Package.objects.get().settings["server"] == server
    job = imported(alice, document=document, selection=["search"])
    assert done(job) == {"search": "added", "addNote": "removed"}
    assert Tool.objects.count() == 2


def test_a_document_that_was_sent_can_be_read_again(alice: User) -> None:
    document = document_of({"/x": {"get": FINE}}, servers=[{"url": "https://a.example"}])
    imported(alice, "mine", document=document, selection="all")
    assert done(imported(alice, "mine")) == {"GET /x": "unchanged"}
    assert Package.objects.get().allowed_hosts == []


@pytest.mark.parametrize(
    ("settings", "code", "told"),
    [
        ({}, "invalid_input", "must name one OpenAPI document"),
        ({"url": "https://a", "selection": []}, "invalid_input", "which operations to import"),
        ({"url": "https://a", "selection": [1]}, "invalid_input", "which operations to import"),
        ({"url": "ftp://a", "selection": "all"}, "invalid_input", "is not a full address"),
        ({"url": "https://u:p@a", "selection": "all"}, "invalid_input", "user name or password"),
        ({"url": 5, "selection": "all"}, "invalid_input", "settings.url must be text"),
        ({"url": "https://a", "key": 1}, "invalid_input", "settings.key is not known"),
        (
            {"url": "https://a", "selection": "all", "server": "a.example"},
            "invalid_input",
            "is not a full address",
        ),
        ({"url": "https://a", "document": {}, "selection": "all"}, "invalid_input", "name one"),
        ({"digest": "0" * 64, "selection": "all"}, "not_found", "not kept any more"),
        ({"document": {}, "selection": "all"}, "invalid_openapi_document", "$.openapi"),
        ({"document": "a: [", "selection": "all"}, "invalid_openapi_document", "no YAML"),
    ],
)
def test_a_wrong_request_is_refused_at_once(
    alice: User, settings: Any, code: str, told: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        import_request(ecosystem="openapi", name="x", settings=settings, user=alice)
    assert refusal.value.code == code
    assert told in refusal.value.message


@pytest.mark.parametrize(
    ("path", "code"), [("/gone", "upstream_error"), ("/html", "invalid_openapi_document")]
)
def test_an_address_without_a_document_fails_the_job(
    alice: User, web: WebServer, path: str, code: str
) -> None:
    web.on("/html", lambda it: it.answer("<html>no</html>"))
    web.on("/gone", lambda it: it.answer(status=404))
    job = imported(alice, url=web.url + path, selection="all")
    assert job.error["code"] == code
    assert not Package.objects.exists()


def test_an_address_inside_the_network_is_not_asked(alice: User) -> None:
    job = imported(alice, url="http://127.0.0.1:1/openapi.json", selection="all")
    assert job.error["code"] == "host_refused"


def test_a_choice_that_names_nothing_or_only_what_cannot_be_fails(alice: User) -> None:
    document = text_of("petstore.yaml").decode()
    job = imported(alice, document=document, selection=["nothing"], server="https://a.example")
    assert job.error["code"] == "unknown_operations"
    job = imported(alice, document=document, selection=["far"], server="https://a.example")
    assert job.error["code"] == "no_tools"
    assert "is in another document" in job.error["message"]


def test_a_relative_server_of_a_file_must_be_said(alice: User) -> None:
    job = imported(alice, document=text_of("petstore.yaml").decode(), selection=["addNote"])
    assert "“/v1” is not a full address" in job.error["message"]


def test_what_somebody_else_added_is_left_alone(alice: User, charlie: User) -> None:
    document = document_of({"/x": {"get": FINE}}, servers=[{"url": "https://a.example"}])
    imported(alice, "mine", document=document, selection="all")
    with pytest.raises(DomainError, match="you did not add it"):
        imported(charlie, "mine", document=document, selection="all")


def test_rest_imports_a_document(alice: User, client_for: SignIn) -> None:
    document = document_of({"/x": {"get": FINE}}, servers=[{"url": "https://a.example"}])
    body = {
        "ecosystem": "openapi",
        "name": "mine",
        "settings": {"document": document, "selection": "all"},
    }
    client = client_for(alice)
    answer = client.post("/api/v1/packages/", body, content_type="application/json")
    assert answer.status_code == 202, answer.content
    import_run(answer.json()["id"])
    job = client.get(f"/api/v1/jobs/{answer.json()['id']}/").json()
    assert job["report"][0]["status"] == "added"
    body["settings"] = {"document": {"swagger": "2.0"}, "selection": "all"}
    answer = client.post("/api/v1/packages/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["extra"]["problems"][0]["path"] == "$.swagger"


def test_the_command_lists_imports_and_renews(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DOCUMENTS / "petstore.yaml")
    call_command("import_openapi", file)
    assert "headPet" in capsys.readouterr().out
    assert not Package.objects.exists()
    call_command(
        "import_openapi",
        file,
        *["--name", "pets", "--select", "tag:pets", "--select", "addNote"],
        *["--server", "https://pets.example/v1", "--approve"],
    )
    out = capsys.readouterr().out
    assert "added     addNote" in out
    assert "is imported (approved)" in out
    assert Package.objects.get().allowed_hosts == ["pets.example"]
    call_command("import_openapi", file, "--name", "pets")
    assert "unchanged addNote" in capsys.readouterr().out
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_openapi", "/nowhere.yaml")


# The pages.


def chosen_page(client: Client, content: bytes | None = None) -> str:
    """Upload a document and return the address of the choice of its operations."""
    file = SimpleUploadedFile("pets.yaml", content or text_of("petstore.yaml"))
    answer = client.post("/packages/import/openapi/", {"openapi-file": file})
    assert answer.status_code == 302, answer.content.decode()
    return answer["Location"]


def test_operations_are_searched_and_chosen_by_tag_without_scripts(
    alice: User, client_for: SignIn
) -> None:
    client = client_for(alice)
    page = chosen_page(client)
    first = client.get(page).content.decode()
    assert "8 of 11 operations chosen" in first  # a small document is chosen as a whole
    assert "HEAD requests cannot be sent by a tool" in first
    asked = {"name": "pets", "server": "https://p.example", "do": "none"}
    assert "0 of 11 operations chosen" in client.post(page, asked).content.decode()
    found = client.post(page, {**asked, "do": "select:pets", "q": "photo"}).content.decode()
    assert "0 of 11 operations chosen" in found
    found = client.post(
        page, {**asked, "do": "select:pets", "operation": "search"}
    ).content.decode()
    assert "4 of 11 operations chosen" in found
    kept = {**asked, "do": "search", "q": "note", "operation": ["search", "listPets", "headPet"]}
    found = client.post(page, kept).content.decode()
    assert "2 of 11 operations chosen" in found
    assert '<input type="hidden" name="operation" value="search">' in found
    assert "Add note" in found
    assert (
        "Nothing fits" in client.post(page, {**asked, "do": "search", "q": "zz"}).content.decode()
    )
    part = client.post(page, {**kept, "do": "count"}, headers={"HX-Request": "true"})
    assert part.content.decode().lstrip().startswith('<p class="strong"')

    answer = client.post(page, {**asked, "do": "import", "operation": ["search", "addNote"]})
    assert answer.status_code == 302
    job = ImportJob.objects.get()
    assert job.settings["selection"] == ["search", "addNote"]
    import_run(job.pk)
    assert "added" in client.get(answer["Location"]).content.decode()
    package = Package.objects.get(name="pets")
    shown = client.get(f"/packages/{package.pk}/").content.decode()
    assert "https://p.example" in shown
    assert page in shown
    again = client.get(page).content.decode()
    assert "2 of 11 operations chosen" in again
    assert 'value="https://p.example"' in again


def test_a_choice_that_cannot_be_imported_is_told_on_the_page(
    alice: User, client_for: SignIn
) -> None:
    client = client_for(alice)
    page = chosen_page(client)
    answer = client.post(page, {"name": "pets", "server": "https://p.example"})
    assert answer.status_code == 422
    assert "Choose at least one operation." in answer.content.decode()
    wrong = {"name": "pets", "server": "p.example", "operation": "search"}
    assert "is not a full address" in client.post(page, wrong).content.decode()


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "or choose a file"),
        ({"openapi-url": "nowhere"}, "is not a full address"),
        ({"openapi-url": "http://127.0.0.1:1/"}, "The request was not sent"),
    ],
)
def test_a_document_that_cannot_be_had_is_told_beside_the_field(
    alice: User, client_for: SignIn, sent: Any, told: str
) -> None:
    answer = client_for(alice).post("/packages/import/openapi/", sent)
    assert answer.status_code == 422
    assert told in answer.content.decode()


def test_a_document_is_seen_by_who_sent_it_and_reviewers_only(
    alice: User, charlie: User, governor: User, client_for: SignIn
) -> None:
    page = chosen_page(client_for(alice))
    assert client_for(charlie).get(page).status_code == 404
    assert client_for(governor).get(page).status_code == 200
    assert Client().get(page).status_code == 302


def test_documents_that_nobody_uses_are_cleared_away(alice: User, client_for: SignIn) -> None:
    client = client_for(alice)
    document = document_of({"/x": {"get": FINE}}, servers=[{"url": "https://a.example"}])
    imported(alice, "mine", document=document, selection="all")
    chosen_page(client)
    ApiDocument.objects.update(created_at="2020-01-01T00:00:00Z")
    chosen_page(client, text_of("tree.json"))
    assert set(ApiDocument.objects.values_list("title", flat=True)) == {"Test", "Tree API"}
