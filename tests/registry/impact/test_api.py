"""`GET /api/v1/tools/{id}/impact/` and `/api/v1/packages/{id}/impact/`, and the pages."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from registry.models import Proposal, Tool
from registry.models.package import ReviewStatus
from registry.services import tool_publish
from tests import factories
from tests.registry.impact.workshop import SEARCH_INPUT, link, make_search, searching

WITH_REGION = {
    **SEARCH_INPUT,
    "properties": {**SEARCH_INPUT["properties"], "region": {"type": "string"}},
    "required": ["query", "region"],
}


@pytest.fixture
def client(client_for: Any, alice: User) -> Client:
    client: Client = client_for(alice)
    return client


@pytest.fixture
def search(alice: User) -> Tool:
    """A tool of Alice's package with version 2 that waits for review."""
    package = factories.make_package(added_by=alice)
    tool = make_search(package=package)
    tool.input_schema = WITH_REGION
    tool_publish(tool, author=None)
    Tool.objects.filter(pk=tool.pk).update(
        version=1, input_schema=SEARCH_INPUT, unreviewed_versions=[2]
    )
    return Tool.objects.get(pk=tool.pk)


def propose(tool: Tool, **fields: Any) -> Proposal:
    versions = [{"tool": str(tool.pk), "export": tool.export_name, "number": 2, "live": 1}]
    return Proposal.objects.create(
        **{"package": tool.package, "cause": "import", "digest": "x", "versions": versions} | fields
    )


def api(kind: str, identity: object) -> str:
    return f"/api/v1/{kind}/{identity}/impact/"


def test_without_a_proposal_the_end_of_the_tool_is_told(
    client: Client, alice: User, search: Tool
) -> None:
    sequence = searching(alice, search, title="Weekly")
    link(factories.make_agent(alice, name="Ada"), search, pinned_version=1)
    body = client.get(api("tools", search.pk)).json()
    assert (body["about"], body["breaks"], body["proposal"]) == ("deletion", True, None)
    (told,) = body["sequences"]
    assert (told["id"], told["how"], told["uses"][0]["toolId"]) == (
        str(sequence.pk),
        "step 1",
        str(search.pk),
    )
    assert body["pins"] == [
        {
            "kind": "agent",
            "id": body["agents"][0]["id"],
            "name": "Ada",
            "tool": "search",
            "version": 1,
            "step": None,
            "kept": False,
        }
    ]
    assert {(problem["kind"], problem["where"]) for problem in body["problems"]} == {
        ("sequence", "step 1, its tool"),
        ("agent", "its link of search"),
    }
    assert body["others"] == {"agents": 0, "sequences": 0, "broken": 0}


def test_what_waits_for_review_is_told_first(client: Client, alice: User, search: Tool) -> None:
    searching(alice, search)
    proposal = propose(search)
    body = client.get(api("tools", search.pk)).json()
    assert (body["about"], body["proposal"]) == ("proposal", str(proposal.pk))
    assert [problem["where"] for problem in body["problems"]] == ["step 1, input “region”"]
    assert client.get(api("tools", search.pk), {"deleted": "1"}).json()["about"] == "deletion"


def test_a_tool_that_the_proposal_takes_out_goes(client: Client, alice: User, search: Tool) -> None:
    searching(alice, search, step={"toolVersion": 1})
    propose(search, versions=[], removed=[str(search.pk)])
    body = client.get(api("tools", search.pk)).json()
    assert body["about"] == "proposal"
    assert body["problems"][0]["where"] == "step 1, its tool"


def test_any_version_can_be_asked_about(client: Client, alice: User, search: Tool) -> None:
    searching(alice, search)
    body = client.get(api("tools", search.pk), {"version": "2"}).json()
    assert (body["about"], body["version"], body["breaks"]) == ("version", 2, True)
    assert not client.get(api("tools", search.pk), {"version": "1"}).json()["breaks"]


def test_a_version_that_waits_for_review_is_for_its_makers_alone(
    client_for: Any, bob: User, search: Tool
) -> None:
    propose(search)
    client = client_for(bob)
    assert client.get(api("tools", search.pk), {"version": "2"}).status_code == 404
    assert client.get(api("tools", search.pk)).json()["about"] == "deletion"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"version": "two"}, "“two” is no version."),
        ({"version": "0"}, "“0” is no version."),
        ({"deleted": "perhaps"}, "“perhaps” is no answer to “deleted”."),
        ({"version": "1", "deleted": "1"}, "Ask for a version or for deletion, not for both."),
    ],
)
def test_an_unclear_question_is_refused(
    client: Client, search: Tool, query: dict[str, str], message: str
) -> None:
    answer = client.get(api("tools", search.pk), query)
    assert (answer.status_code, answer.json()["message"]) == (400, message)
    assert client.get(reverse("registry:tool_impact", args=[search.pk]), query).status_code == 400


def test_what_one_may_not_see_is_not_found(client_for: Any, alice: User, bob: User) -> None:
    factories.make_builtin("calculator")
    private = factories.make_sequence(alice)
    package = factories.make_package(added_by=alice, review_status=ReviewStatus.CANDIDATE)
    client = client_for(bob)
    assert client.get(api("tools", private.pk)).status_code == 404
    assert client.get(api("packages", package.pk)).status_code == 404
    assert client.get(reverse("registry:tool_impact", args=[private.pk])).status_code == 404
    assert client.get(reverse("registry:package_impact", args=[package.pk])).status_code == 404


def test_a_reviewer_asks_about_a_tool_that_nobody_has_approved(
    client_for: Any, governor: User, alice: User
) -> None:
    package = factories.make_package(added_by=alice, review_status=ReviewStatus.CANDIDATE)
    tool = make_search(package=package)
    assert client_for(governor).get(api("tools", tool.pk)).status_code == 200


def test_all_tools_of_a_package_are_asked_about(client: Client, alice: User, search: Tool) -> None:
    other = make_search(wire_name="search_2", package=search.package)
    searching(alice, search, title="One")
    searching(alice, other, title="Two")
    body = client.get(api("packages", search.package_id)).json()
    assert {item["name"] for item in body["sequences"]} == {"One", "Two"}
    propose(search)
    body = client.get(api("packages", search.package_id)).json()
    assert (body["about"], [item["name"] for item in body["sequences"]]) == ("proposal", ["One"])


def test_a_token_needs_the_scope_to_read_tools(alice: User, search: Tool) -> None:
    from agents.tokens import token_create

    _, text = token_create(alice, name="x", scopes=["tools:run"])
    answer = Client().get(api("tools", search.pk), headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 403


def test_the_page_tells_the_same_with_a_picture(client: Client, alice: User, search: Tool) -> None:
    searching(alice, search, title="Weekly <b>")
    propose(search)
    page = client.get(reverse("registry:tool_impact", args=[search.pk])).content.decode()
    assert "This breaks 1 sequence: “Weekly &lt;b&gt;”." in page
    assert "“search” needs “region”." in page and "<svg" in page and "style=" not in page
    assert "What waits for review" in page


def test_a_page_of_a_tool_that_nothing_uses_says_so(client: Client, search: Tool) -> None:
    page = client.get(reverse("registry:tool_impact", args=[search.pk])).content.decode()
    assert "Nothing uses this tool." in page
    package = client.get(reverse("registry:package_impact", args=[search.package_id]))
    assert "Nothing uses this tool." in package.content.decode()
