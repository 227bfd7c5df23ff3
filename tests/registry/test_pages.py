"""The registry's pages: what they show, to whom, and that they work without JavaScript."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from registry.importing.jobs import import_request, import_run
from registry.models import ImportJob, Invocation, Tool
from registry.models.job import JobStatus
from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from tests.factories import make_builtin, make_package, make_sequence, make_tool

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
TOOLS = "/tools/"
SCHEMA = {
    "type": "object",
    "properties": {
        "expression": {"type": "string", "description": "What to compute."},
        "digits": {"type": "integer", "default": 4, "minimum": 0},
        "mode": {"enum": ["fast", "exact"]},
        "loud": {"type": "boolean"},
        "extra": {"type": "object"},
    },
    "required": ["expression"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def no_sandbox(monkeypatch, tmp_path):
    """Calls and imports end at once: the sandbox is not there."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))


@pytest.fixture
def page(alice, client_for):
    """Return a function that gives a page's text to Alice."""
    client = client_for(alice)
    return lambda url, **headers: client.get(url, headers=headers).content.decode()


def titles(text):
    return re.findall(r'/tools/[0-9a-f-]{36}/">([^<]+)</a></h2>', text)


@pytest.mark.parametrize("name", ["tool_list", "package_list"])
def test_a_stranger_is_asked_to_sign_in(name):
    response = Client().get(reverse(f"registry:{name}"))

    assert response.status_code == 302
    assert response["Location"].startswith("/login/")


def test_the_catalogue_shows_what_a_person_may_see(page, alice, charlie):
    make_tool(title="Public one")
    make_tool(title="Candidate", package=make_package(review_status=ReviewStatus.CANDIDATE))
    make_sequence(charlie, title="Charlie's own", definition={"format": 1, "steps": []})
    make_sequence(alice, title="My own", definition={"format": 1, "steps": []})

    assert titles(page(TOOLS)) == ["My own", "Public one"]


def test_filters_narrow_the_catalogue(page, alice):
    make_tool(title="Broken one", execution_health=Health.BROKEN, category="text")
    make_tool(title="Healthy one", import_health=Health.HEALTHY)
    make_sequence(alice, title="Mine", definition={"format": 1, "steps": []})

    assert titles(page(f"{TOOLS}?health=broken")) == ["Broken one"]
    assert titles(page(f"{TOOLS}?health=healthy")) == ["Healthy one"]
    assert titles(page(f"{TOOLS}?health=unknown")) == ["Mine"]
    assert titles(page(f"{TOOLS}?kind=sequence")) == ["Mine"]
    assert titles(page(f"{TOOLS}?category=text")) == ["Broken one"]
    assert titles(page(f"{TOOLS}?visibility={Visibility.PRIVATE}")) == ["Mine"]
    assert titles(page(f"{TOOLS}?owner=me")) == ["Mine"]
    assert "No tool fits" in page(f"{TOOLS}?health=nonsense")
    assert "No tool fits" in page(f"{TOOLS}?q=%00&kind=%00")


def test_the_beginning_of_a_word_of_its_name_finds_a_tool(page):
    make_tool(title="Markdown maker", wire_name="markdown_maker")
    make_tool(title="Other")

    assert titles(page(f"{TOOLS}?q=markd")) == ["Markdown maker"]


def test_pages_keep_the_filters(page):
    package = make_package()
    for number in range(30):
        make_tool(title=f"Tool {number:02}", package=package)

    first = page(f"{TOOLS}?kind=npm")
    assert len(titles(first)) == 24
    assert "?kind=npm&amp;page=2" in first
    assert len(titles(page(f"{TOOLS}?kind=npm&page=2"))) == 6
    assert "health=import_broken" in first
    assert f"{TOOLS}?kind=npm&amp;health=import_broken" in first, "a chip keeps the other filters"


def test_a_search_swaps_only_the_results(page):
    make_tool(title="One")
    fragment = page(f"{TOOLS}?q=one", **HTMX)

    assert fragment.lstrip().startswith('<section class="stack" id="tools"')
    assert "<html" not in fragment


def test_the_catalogue_asks_the_database_no_more_often_for_more_tools(
    alice, client_for, django_assert_max_num_queries
):
    client = client_for(alice)
    for _ in range(20):
        make_tool()
    with django_assert_max_num_queries(8):
        client.get(TOOLS)


def test_an_empty_catalogue_says_what_to_do(page):
    assert "Import a package to get the first ones" in page(TOOLS)


def test_a_tools_page_tells_all_there_is(page):
    tool = make_tool(
        title="Computer",
        input_schema=SCHEMA,
        output_schema={"type": "number"},
        ai_agent={"useCase": "Sums", "limitations": "No magic", "examples": ["2 + 2"]},
        package=make_package(env=[{"name": "COMPUTE_KEY", "required": True}]),
    )
    text = page(f"/tools/{tool.pk}/")

    for words in ("What to compute.", "Sums", "No magic", "2 + 2", "COMPUTE_KEY", "whole number"):
        assert words in text
    assert '<textarea id="try-extra"' in text
    assert '<input id="try-loud" type="checkbox"' in text
    assert 'name="digits" value="4"' in text
    assert reverse("agents:credential_list") in text
    assert reverse("agents:agents_using_tool", args=[tool.pk]) in text


def test_a_broken_tool_says_why_and_what_to_do(page):
    error = {"code": "import_broken", "message": "It threw.", "hint": "Ask its author."}
    tool = make_tool(import_health=Health.BROKEN, health_error=error)
    text = page(f"/tools/{tool.pk}/")

    assert "It threw." in text
    assert "Ask its author." in text


def test_what_a_tool_says_cannot_become_markup(page):
    tool = make_tool(title="<script>x</script>", description="<img src=x onerror=y>")
    text = page(f"/tools/{tool.pk}/") + page(TOOLS)

    assert "<script>x" not in text
    assert "<img" not in text


def test_a_candidate_is_not_there_for_others(alice, bob, charlie, governor, client_for):
    package = make_package(added_by=alice, review_status=ReviewStatus.CANDIDATE)
    tool = make_tool(package=package)
    addresses = [f"/tools/{tool.pk}/", f"/packages/{package.pk}/"]

    assert [client_for(alice).get(url).status_code for url in addresses] == [200, 200]
    for person in (bob, charlie):
        assert [client_for(person).get(url).status_code for url in addresses] == [404, 404]
        assert client_for(person).post(f"/tools/{tool.pk}/try/").status_code == 404
        assert client_for(person).post(f"{addresses[1]}refresh/").status_code == 404
    reviewed = client_for(governor).get(addresses[1]).content.decode()
    assert tool.title in reviewed


def test_a_tool_is_tried_and_the_result_stands_beside_the_form(alice, client_for):
    tool = make_builtin("calculator")
    response = client_for(alice).post(
        f"/tools/{tool.pk}/try/", {"expression": "6 * 7"}, headers=HTMX
    )
    text = response.content.decode()

    assert response.status_code == 200
    assert "42" in text
    assert "Succeeded" in text
    assert 'id="calls"' in text
    assert 'hx-swap-oob="true"' in text, "the list of calls is brought up to date too"
    assert Invocation.objects.get().caller == "browser"


def test_an_error_of_a_call_is_shown_with_what_to_do(alice, client_for):
    tool = make_tool(package=make_package(artifact="a" * 64))
    text = client_for(alice).post(f"/tools/{tool.pk}/try/", {"text": "hi"}).content.decode()

    assert "sandbox_unavailable" in text
    assert "manage.py doctor" in text
    assert "<html" in text, "without htmx the whole page comes back"
    assert Invocation.objects.get().outcome == "failed"
    assert "hi</textarea>" in text, "what was typed stays"


def test_a_missing_credential_leads_to_the_credentials(alice, client_for):
    package = make_package(artifact="a", env=[{"name": "SOME_KEY", "required": True}])
    tool = make_tool(package=package)
    text = client_for(alice).post(f"/tools/{tool.pk}/try/", {"text": "hi"}).content.decode()

    assert "needs SOME_KEY" in text
    assert "Set the credential" in text


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"expression": "1", "digits": "many"}, "digits must be a whole number"),
        ({"expression": "1", "extra": "{"}, "extra must be JSON"),
        ({"digits": "-1", "expression": "1"}, "digits must be"),
        ({}, "expression is required"),
    ],
)
def test_a_wrong_field_is_marked(alice, client_for, sent, words):
    tool = make_tool(input_schema=SCHEMA)
    response = client_for(alice).post(f"/tools/{tool.pk}/try/", sent, headers=HTMX)

    assert response.status_code == 422
    assert words in response.content.decode()
    assert 'aria-invalid="true"' in response.content.decode()


def test_the_try_address_leads_back_to_the_tool(alice, client_for):
    tool = make_tool()
    response = client_for(alice).get(f"/tools/{tool.pk}/try/")

    assert (response.status_code, response["Location"]) == (302, f"/tools/{tool.pk}/")


def test_packages_are_listed_with_their_tools_and_findings(
    page, django_assert_max_num_queries, alice, client_for
):
    for number in range(5):
        finding = {"code": "drift", "path": "a", "message": "Differs."}
        make_tool(package=make_package(name=f"@acme/p{number}", findings=[finding]))
    text = page("/packages/")

    assert text.count("1 finding") == 5
    client = client_for(alice)
    with django_assert_max_num_queries(8):
        client.get("/packages/")


def test_a_packages_page_tells_findings_env_and_integrity(page):
    package = make_package(
        integrity="sha512-abc",
        findings=[{"code": "drift", "path": "recipeHash", "message": "Not exported."}],
        env=[{"name": "SOME_KEY", "description": "For it.", "required": False}],
        manifest={"name": "whole-manifest"},
    )
    tool = make_tool(package=package)
    text = page(f"/packages/{package.pk}/")

    told = ("sha512-abc", "recipeHash", "Not exported.", "SOME_KEY", "whole-manifest", tool.title)
    for words in told:
        assert words in text
    assert f"/packages/{package.pk}/refresh/" not in text, "only who added it may refresh it"


def test_an_import_goes_to_its_progress(alice, client_for):
    response = client_for(alice).post("/packages/import/", {"name": "@acme/new", "version": "^1"})

    job = ImportJob.objects.get()
    assert response["Location"] == f"/jobs/{job.pk}/"
    assert (job.name, job.version, job.requested_by) == ("@acme/new", "^1", alice)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"name": "../x"}, "is not the name of an npm package"),
        ({"name": ""}, "This field is required"),
        ({"name": "fine", "version": ";"}, "is not a version"),
    ],
)
def test_a_wrong_package_name_is_told_beside_its_field(alice, client_for, sent, words):
    response = client_for(alice).post("/packages/import/", sent)

    assert response.status_code == 422
    assert words in response.content.decode()


def test_a_package_of_another_person_is_not_imported_again(alice, charlie, client_for):
    make_package(name="@acme/theirs", added_by=alice)
    response = client_for(charlie).post("/packages/import/", {"name": "@acme/theirs"})

    assert response.status_code == 422
    assert "you did not add it" in response.content.decode()
    assert not ImportJob.objects.exists()


def test_who_added_a_package_refreshes_it(alice, client_for):
    package = make_package(added_by=alice)
    response = client_for(alice).post(f"/packages/{package.pk}/refresh/")

    assert response["Location"] == f"/jobs/{ImportJob.objects.get().pk}/"


def test_others_do_not_refresh_an_approved_package(alice, charlie, client_for):
    package = make_package(added_by=alice)
    response = client_for(charlie).post(f"/packages/{package.pk}/refresh/")

    assert response.status_code == 403
    assert "Ask a reviewer" in response.content.decode()


def test_an_open_import_asks_for_itself_until_it_is_over(page, alice):
    job = import_request(ecosystem="npm", name="@acme/new", user=alice, queued=False)
    assert 'hx-trigger="every 1s"' in page(f"/jobs/{job.pk}/", **HTMX)

    import_run(job.pk)
    text = page(f"/jobs/{job.pk}/", **HTMX)
    assert "every 1s" not in text
    assert "The sandbox service does not answer" in text
    assert "Try again" in text


def test_a_finished_import_lists_its_tools(page, alice):
    tool = make_tool()
    entry = {"export": "scrape", "tool": str(tool.pk), "status": "added", "message": ""}
    job = ImportJob.objects.create(
        ecosystem="npm",
        name="@acme/p",
        status=JobStatus.SUCCEEDED,
        package=tool.package,
        report=[entry],
        requested_by=alice,
    )
    text = page(f"/jobs/{job.pk}/")

    assert f'/tools/{tool.pk}/">scrape</a>' in text
    assert str(tool.package) in text


def test_a_failed_import_stands_on_the_packages_page(page, alice, charlie, client_for):
    import_run(import_request(ecosystem="npm", name="@acme/no", user=alice, queued=False).pk)

    assert "@acme/no was not imported." in page("/packages/")
    assert "Try again" in page("/packages/")
    assert "@acme/no" not in client_for(charlie).get("/packages/").content.decode()


def test_an_import_of_another_person_is_not_there(alice, charlie, client_for):
    job = import_request(ecosystem="npm", name="@acme/new", user=alice, queued=False)

    assert client_for(charlie).get(f"/jobs/{job.pk}/").status_code == 404


def test_a_deleted_tool_is_not_there(alice, client_for):
    tool = make_tool()
    Tool.objects.filter(pk=tool.pk).update(deleted_at="2026-01-01T00:00Z")

    assert client_for(alice).get(f"/tools/{tool.pk}/").status_code == 404


def test_trying_a_sequence_leads_to_the_page_of_its_run(alice, client_for):
    from sequences.models import Run

    tool = make_sequence(alice)
    client, url = client_for(alice), f"/tools/{tool.pk}/try/"

    plain = client.post(url, {"text": "1 + 1"})
    swapped = client.post(url, {"text": "1 + 1"}, headers={"HX-Request": "true"})

    pages = {f"/runs/{run.pk}/" for run in Run.objects.all()}
    assert {plain.headers["Location"], swapped.headers["HX-Redirect"]} == pages


def test_a_sequence_that_may_not_run_says_so_on_the_tool_page(alice, client_for):
    tool = make_sequence(alice)
    text = client_for(alice).post(f"/tools/{tool.pk}/try/", {}).content.decode()

    assert "is required" in text
