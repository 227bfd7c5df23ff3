"""`/api/v1/packages/`, `/api/v1/jobs/` and `/api/v1/tools/`."""

from math import exp, prod

import pytest
from django.test import Client

from agents.services import credential_set
from agents.tokens import token_create
from registry.models import ImportJob, Invocation, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.tool import Health
from registry.search.weights import Weights
from tests.factories import make_builtin, make_package, make_sequence, make_tool, make_user

pytestmark = pytest.mark.django_db

API = "/api/v1"
JSON = "application/json"
STEPLESS = {"format": 1, "steps": []}


@pytest.fixture(autouse=True)
def no_sandbox(monkeypatch, tmp_path):
    """Calls and imports end at once: the sandbox is not there."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))


def bearer(user, *scopes) -> Client:
    _, text = token_create(user, name="test", scopes=scopes)
    return Client(headers={"authorization": f"Bearer {text}"})


def names(answer):
    return [tool["name"] for tool in answer.json()["results"]]


@pytest.mark.parametrize("path", ["packages/", "tools/", "tools/search/"])
def test_a_stranger_is_refused(path):
    answer = Client().get(f"{API}/{path}")

    assert answer.status_code == 401
    assert answer.json()["code"] == "not_authenticated"


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        ("tools:run", "get", "tools/"),
        ("tools:run", "get", "packages/"),
        ("tools:read", "post", "packages/"),
        ("tools:read", "post", "tools/"),
        ("tools:write", "post", "tools/{tool}/run/"),
        ("tools:read", "delete", "tools/{tool}/"),
        ("tools:read", "post", "tools/{tool}/versions/1/restore/"),
    ],
)
def test_a_token_without_the_scope_is_refused(alice, scope, method, path):
    path = path.format(tool=make_tool().pk)
    answer = getattr(bearer(alice, scope), method)(f"{API}/{path}", content_type=JSON)

    assert answer.status_code == 403
    assert "lacks the scope" in answer.json()["message"]


def test_an_import_is_accepted_and_followed(alice):
    client = bearer(alice, "tools:read", "tools:write")
    body = {"ecosystem": "npm", "name": "@acme/new", "version": "^1"}
    answer = client.post(f"{API}/packages/", body, content_type=JSON)

    assert answer.status_code == 202
    job = answer.json()
    assert (job["name"], job["version"], job["status"]) == ("@acme/new", "^1", "queued")
    assert answer["Location"] == f"{API}/jobs/{job['id']}/"
    assert client.get(answer["Location"]).json() == job


def test_the_same_key_imports_once(alice):
    client = bearer(alice)
    for _ in range(2):
        answer = client.post(
            f"{API}/packages/",
            {"name": "@acme/new"},
            content_type=JSON,
            headers={"idempotency-key": "once"},
        )
        assert answer.status_code == 202
    assert ImportJob.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_input"),
        ({"name": "../x"}, 400, "invalid_package_name"),
        ({"name": "fine", "version": ";"}, 400, "invalid_package_version"),
        ({"name": "fine", "ecosystem": "cargo"}, 400, "invalid_input"),
        ({"name": "-r", "ecosystem": "pypi"}, 400, "invalid_package_name"),
        ({"name": "fine", "ecosystem": "local"}, 403, "not_allowed"),
        ({"name": ["x"]}, 400, "invalid_input"),
        ([], 400, "invalid_input"),
        ({"name": "@acme/theirs"}, 403, "package_not_yours"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_a_code(alice, bob, body, status, code):
    make_package(name="@acme/theirs", added_by=bob)
    answer = bearer(alice).post(f"{API}/packages/", body, content_type=JSON)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_packages_are_listed_and_shown(alice):
    package = make_package(manifest={"name": "p"}, findings=[{"code": "drift"}])
    make_package(review_status=ReviewStatus.CANDIDATE)
    client = bearer(alice)

    (listed,) = client.get(f"{API}/packages/").json()["results"]
    assert listed["id"] == str(package.pk)
    assert "manifest" not in listed
    assert client.get(f"{API}/packages/{package.pk}/").json()["manifest"] == {"name": "p"}


def test_a_candidate_is_not_there_for_others(alice, charlie):
    package = make_package(added_by=alice, review_status=ReviewStatus.CANDIDATE)
    tool = make_tool(package=package)
    paths = [f"packages/{package.pk}/", f"tools/{tool.pk}/", f"tools/{tool.pk}/versions/"]

    for path in paths:
        assert bearer(alice).get(f"{API}/{path}").status_code == 200
        answer = bearer(charlie).get(f"{API}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    run = f"{API}/tools/{tool.pk}/run/"
    assert bearer(charlie).post(run, {}, content_type=JSON).status_code == 404
    assert bearer(charlie).post(f"{API}/{paths[0]}refresh/").status_code == 404
    assert names(bearer(charlie).get(f"{API}/tools/")) == []


def test_a_job_of_another_person_is_not_there(alice, charlie):
    job = bearer(alice).post(f"{API}/packages/", {"name": "x"}, content_type=JSON).json()

    assert bearer(charlie).get(f"{API}/jobs/{job['id']}/").status_code == 404


def test_who_added_a_package_refreshes_it(alice, charlie):
    package = make_package(added_by=alice)
    path = f"{API}/packages/{package.pk}/refresh/"

    assert bearer(alice).post(path).status_code == 202
    assert bearer(charlie).post(path).json()["code"] == "package_not_yours"


def test_tools_are_filtered_and_paged_by_cursor(alice):
    for number in range(3):
        make_tool(wire_name=f"tool_{number}", category="text")
    make_tool(wire_name="other", category="math", import_health=Health.BROKEN)
    client = bearer(alice)

    first = client.get(f"{API}/tools/?category=text&limit=2")
    second = client.get(first.json()["next"])
    assert names(first) + names(second) == ["tool_2", "tool_1", "tool_0"]
    assert names(client.get(f"{API}/tools/?health=broken")) == ["other"]
    assert names(client.get(f"{API}/tools/?kind=sequence")) == []
    assert names(client.get(f"{API}/tools/?owner=me")) == []


def test_a_query_lists_the_best_match_first(alice):
    package = make_package(name="@acme/things")
    for number in range(3):
        make_tool(wire_name=f"weather_{number}", title=f"weather {number}", package=package)
    make_tool(wire_name="other", title="other", package=package)
    client = bearer(alice)

    first = client.get(f"{API}/tools/?q=weather&limit=2")
    second = client.get(first.json()["next"])
    assert sorted(names(first) + names(second)) == ["weather_0", "weather_1", "weather_2"]


def test_the_list_asks_the_database_no_more_often_for_more_tools(
    alice, django_assert_max_num_queries
):
    client = bearer(alice)
    for _ in range(10):
        make_tool()
    with django_assert_max_num_queries(5):
        client.get(f"{API}/tools/")


def test_a_tool_is_told_with_all_a_caller_needs(alice):
    tool = make_tool(output_schema={"type": "string"}, ai_agent={"useCase": "u"})
    told = bearer(alice).get(f"{API}/tools/{tool.pk}/").json()

    assert told["name"] == tool.wire_name
    assert told["type"] == told["kind"] == "npm"
    assert told["inputSchema"]["required"] == ["text"]
    assert told["outputSchema"] == {"type": "string"}
    assert told["aiAgent"] == {"useCase": "u"}
    assert told["package"]["name"] == tool.package.name
    assert told["owner"] is None
    assert told["definition"] is None


def test_a_search_finds_ranks_and_explains(alice):
    make_tool(wire_name="weather", title="Weather", description="Tells the weather of a town.")
    make_tool(wire_name="calendar", title="Calendar", description="Lists appointments.")
    answer = bearer(alice).get(f"{API}/tools/search/?q=what+is+the+weather&explain=1").json()

    assert answer["query"] == "what is the weather"
    assert [found["tool"]["name"] for found in answer["results"]] == ["weather"]
    assert answer["total"] == 1
    assert answer["took_ms"] >= 0
    assert 0 < answer["results"][0]["score"] <= 1
    plain = bearer(alice).get(f"{API}/tools/search/?q=weather").json()
    assert "parts" not in plain["results"][0] and "filtered" not in plain


def test_the_parts_of_an_explained_search_sum_to_the_score(alice):
    make_tool(
        wire_name="weather",
        export_name="weather",
        description="Tells the weather of a town.",
        quality=0.5,
    )
    make_tool(wire_name="town_map", description="A map of a town.")
    make_tool(wire_name="hidden_weather", visibility="private", owner=make_user("olga"))
    url = f"{API}/tools/search/?q=the+weather+of+the+towns&explain=1&limit=1"
    answer = bearer(alice).get(url).json()

    [found] = answer["results"]
    parts = found["parts"]
    names = ["coverage", "clause", "passage", "limitations", "history", "dense", "turn", "shift"]
    total = sum(term["gain"] for term in parts["terms"]) + sum(parts[name] for name in names)
    assert total * prod(parts["factors"].values()) == pytest.approx(parts["ranking"], abs=1e-6)
    relevance = parts["relevance"]
    assert relevance["value"] * parts["share"] == pytest.approx(found["score"], abs=1e-4)
    odds = sum(reason["gain"] for reason in relevance["reasons"])
    assert relevance["value"] == pytest.approx(1 / (1 + exp(-odds)), abs=1e-6)
    assert relevance["speaks"] == "message" and "tool" not in relevance
    words = {term["word"]: term for term in parts["terms"]}
    assert set(words) == {"weather", "towns"} and words["towns"]["term"] == "town"
    assert set(words["weather"]["fields"]) == {"name", "description"}
    assert parts["floor"] == Weights().floor
    reasons = {left["name"]: left["reason"] for left in answer["filtered"]}
    assert reasons == {"town_map": "enough tools found already"}


@pytest.mark.parametrize(
    ("narrowed", "names"),
    [
        ("kind=npm", ["weather"]),
        ("kind=sequence", []),
        ("category=web", ["weather"]),
        ("category=text", []),
        ("package=@acme/weather", ["weather"]),
        ("package=@acme/mail", []),
        ("health=unknown", ["weather"]),
        ("health=broken", []),
        ("kind=npm&category=web&package=&health=", ["weather"]),
    ],
)
def test_a_search_is_narrowed_by_kind_category_package_and_health(alice, narrowed, names):
    make_tool(
        wire_name="weather",
        title="Weather",
        description="Tells the weather of a town.",
        category="web",
        package=make_package(name="@acme/weather"),
    )
    make_tool(wire_name="calendar", title="Calendar", description="Lists appointments.")
    answer = bearer(alice).get(f"{API}/tools/search/?q=weather&{narrowed}").json()
    assert [found["tool"]["name"] for found in answer["results"]] == names


@pytest.mark.parametrize(("name", "value"), [("kind", "robot"), ("health", "ill")])
def test_a_kind_or_state_that_does_not_exist_is_refused_and_the_known_are_told(alice, name, value):
    answer = bearer(alice).get(f"{API}/tools/search/", {"q": "x", name: value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert "Give one of" in answer.content.decode()


@pytest.mark.parametrize("messages", ["x", "{}", "[1]"])
def test_messages_that_are_no_list_of_texts_are_refused(alice, messages):
    answer = bearer(alice).get(f"{API}/tools/search/", {"q": "x", "messages": messages})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert bearer(alice).get(f"{API}/tools/search/?q=x&limit=0").status_code == 400
    assert bearer(alice).get(f'{API}/tools/search/?q=x&messages=["a"]').status_code == 200


def test_a_tool_is_called(alice):
    tool = make_builtin("calculator")
    answer = bearer(alice, "tools:run").post(
        f"{API}/tools/{tool.pk}/run/", {"arguments": {"expression": "6 * 7"}}, content_type=JSON
    )

    assert answer.status_code == 200
    told = answer.json()
    assert told.keys() == {"status", "output", "duration_ms", "invocation", "artifacts"}
    assert told["status"] == "succeeded"
    assert told["invocation"] == str(Invocation.objects.get().pk)
    assert Invocation.objects.get().caller == "rest"


@pytest.mark.parametrize(
    ("body", "status", "code", "phase"),
    [
        ({"arguments": {}}, 400, "invalid_arguments", "validate"),
        ({"arguments": {"text": 3}}, 400, "invalid_arguments", "validate"),
        ({"arguments": {"text": "x"}}, 409, "sandbox_unavailable", "load"),
        ({"arguments": {"text": "x"}, "version": 9}, 409, "tool_unavailable", "load"),
    ],
)
def test_a_failed_call_answers_with_the_tools_own_error(alice, body, status, code, phase):
    tool = make_tool(package=make_package(artifact="a" * 64))
    answer = bearer(alice).post(f"{API}/tools/{tool.pk}/run/", body, content_type=JSON)

    error = answer.json()
    assert (answer.status_code, error["code"]) == (status, code)
    assert error["extra"]["phase"] == phase
    assert error["extra"]["tool"]
    assert error["message"]
    assert error["hint"]


@pytest.mark.parametrize("body", [{"arguments": []}, {"arguments": {}, "env": {"A": []}}, []])
def test_a_run_of_a_wrong_shape_is_refused(alice, body):
    answer = bearer(alice).post(f"{API}/tools/{make_tool().pk}/run/", body, content_type=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


@pytest.mark.parametrize(
    "env", [{f"KEY_{number}": "value" for number in range(51)}, {"no name": "value"}]
)
def test_a_call_takes_no_more_variables_than_there_can_be(alice, env):
    tool = make_builtin("calculator")
    body = {"arguments": {"expression": "1"}, "env": env}
    refused = bearer(alice).post(f"{API}/tools/{tool.pk}/run/", body, content_type=JSON)
    assert refused.status_code == 400
    assert "env" in str(refused.json())


def test_a_call_uses_stored_credentials_and_those_it_is_given(alice):
    env = [{"name": "SOME_KEY", "required": True}]
    tool = make_tool(package=make_package(artifact="a" * 64, env=env))
    client, path = bearer(alice), f"{API}/tools/{tool.pk}/run/"
    body = {"arguments": {"text": "x"}}

    missing = client.post(path, body, content_type=JSON).json()
    assert (missing["code"], missing["extra"]["missing"]) == ("missing_credential", ["SOME_KEY"])
    given = client.post(path, {**body, "env": {"SOME_KEY": "s3cret"}}, content_type=JSON)
    assert given.json()["code"] == "sandbox_unavailable"
    assert "s3cret" not in given.content.decode()
    credential_set(alice, name="SOME_KEY", value="stored")
    assert client.post(path, body, content_type=JSON).json()["code"] == "sandbox_unavailable"


def test_a_tool_that_requires_a_scope_asks_it_of_the_token(alice):
    tool = make_tool(required_scopes=["mail:send"])
    answer = bearer(alice, "tools:run").post(
        f"{API}/tools/{tool.pk}/run/", {"arguments": {"text": "x"}}, content_type=JSON
    )

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_refused")


def sequence_body(**changes):
    calculator = Tool.objects.filter(wire_name="calculator").first() or make_builtin("calculator")
    step = {
        "stepNumber": 1,
        "toolToRunId": str(calculator.pk),
        "inputMapping": {"expression": {"source": "initialInput", "key": "sum"}},
    }
    return {
        "name": "Sums",
        "description": "Works out a sum.",
        "type": "sequence",
        "visibility": "private",
        "definition": {"format": 1, "steps": [step]},
        "inputSchema": {
            "type": "object",
            "properties": {"sum": {"type": "string"}},
            "required": ["sum"],
        },
        **changes,
    }


def test_a_sequence_is_made_changed_restored_and_deleted(alice):
    client = bearer(alice)
    made = client.post(f"{API}/tools/", sequence_body(), content_type=JSON)
    assert made.status_code == 201, made.content
    path = f"{API}/tools/{made.json()['id']}/"

    patched = client.patch(path, {"description": "Another."}, content_type=JSON).json()
    assert (patched["description"], patched["version"], patched["title"]) == ("Another.", 2, "Sums")
    replaced = client.put(path, sequence_body(name="Renamed"), content_type=JSON).json()
    assert (replaced["title"], replaced["version"]) == ("Renamed", 3)
    versions = client.get(f"{path}versions/").json()["results"]
    assert [version["number"] for version in versions] == [3, 2, 1]

    restored = client.post(f"{path}versions/2/restore/", content_type=JSON).json()
    assert (restored["title"], restored["description"]) == ("Sums", "Another.")
    assert restored["version"] == 4
    assert ToolVersion.objects.filter(tool=made.json()["id"]).count() == 4
    assert client.post(f"{path}versions/9/restore/", content_type=JSON).status_code == 404
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_a_wrong_definition_is_told_field_by_field(alice):
    body = sequence_body(definition={"format": 1, "steps": [{"stepNumber": 1}]})
    answer = bearer(alice).post(f"{API}/tools/", body, content_type=JSON)

    assert answer.status_code == 400
    assert answer.json()["extra"]["problems"]


@pytest.mark.parametrize(
    "body", [{}, {"name": "x"}, [], {"name": "x", "definition": 3, "inputSchema": {}}]
)
def test_a_tool_of_a_wrong_shape_is_refused(alice, body):
    answer = bearer(alice).post(f"{API}/tools/", body, content_type=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_a_type_that_nobody_can_make_is_refused(alice):
    answer = bearer(alice).post(f"{API}/tools/", sequence_body(type="npm"), content_type=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert "cannot be made here" in answer.json()["message"]


def test_only_its_owner_changes_a_tool(alice, charlie, governor):
    tool = make_sequence(alice, visibility="public", definition=STEPLESS)
    path = f"{API}/tools/{tool.pk}/"

    for person in (charlie, governor):
        client = bearer(person)
        assert client.get(path).status_code == 200
        assert client.patch(path, {"name": "x"}, content_type=JSON).status_code == 404
        assert client.delete(path).status_code == 404
        assert client.post(f"{path}versions/1/restore/", content_type=JSON).status_code == 404


def test_an_imported_tool_is_not_changed_by_hand(alice):
    tool = make_tool(package=make_package(added_by=alice))
    answer = bearer(alice).patch(f"{API}/tools/{tool.pk}/", {"name": "x"}, content_type=JSON)

    assert answer.status_code == 404


def test_a_sequence_is_started_and_answers_with_its_run(alice):
    client = bearer(alice)
    made = client.post(f"{API}/tools/", sequence_body(), content_type=JSON).json()
    answer = client.post(
        f"{API}/tools/{made['id']}/run/", {"arguments": {"sum": "1 + 1"}}, content_type=JSON
    )

    assert answer.status_code == 202
    assert answer.json()["run"] in answer.json()["url"]
    assert answer["Location"] == answer.json()["url"]
