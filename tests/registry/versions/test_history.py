"""The history of a tool, and what changed between two of its versions."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.services import tool_publish
from tests import factories

pytestmark = pytest.mark.django_db

CLOSED = {"additionalProperties": False, "type": "object"}


def changed(tool: Tool, *, author: User | None = None, reason: str = "", **fields: Any) -> Tool:
    for name, value in fields.items():
        setattr(tool, name, value)
    tool_publish(tool, author=author, reason=reason)
    return tool


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def reviewer() -> User:
    user = factories.make_user()
    user.user_permissions.add(Permission.objects.get(codename="view_proposal"))
    return user


@pytest.fixture
def tool(db: None) -> Tool:
    """A public tool whose second version asks for more and whose third says it better."""
    alice = factories.make_user("alice")
    tool = factories.make_tool(owner=alice)
    changed(
        tool,
        author=alice,
        reason="Let callers say how much",
        input_schema={
            **CLOSED,
            "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["text", "limit"],
        },
    )
    changed(tool, description="Does something useful with a long text.")
    return tool


def test_the_history_says_of_each_version_who_made_it_when_and_why(tool: Tool) -> None:
    page = client_of(factories.make_user()).get(reverse("registry:version_list", args=[tool.pk]))

    content = page.content.decode()
    assert page.status_code == 200
    assert "Let callers say how much" in content
    assert "alice" in content
    assert tool.versions.get(number=3).digest[:10] in content
    assert content.index("Compare from version 3") < content.index("Compare from version 1")
    assert '<span class="badge is-info">live</span>' in content


def test_two_chosen_versions_lead_to_what_changed(tool: Tool) -> None:
    client = client_of(factories.make_user())
    answer = client.get(reverse("registry:version_list", args=[tool.pk]), {"from": "1", "to": "3"})

    assert answer.headers["Location"] == reverse("registry:version_diff", args=[tool.pk, 1, 3])


@pytest.mark.parametrize("sent", [{"from": "1"}, {"from": "x", "to": "2"}, {"to": "9" * 40}])
def test_choosing_less_than_two_versions_says_what_to_do(tool: Tool, sent: dict[str, str]) -> None:
    client = client_of(factories.make_user())
    answer = client.get(reverse("registry:version_list", args=[tool.pk]), sent)

    assert answer.status_code == 400
    assert "Choose two versions to compare." in answer.content.decode()


def test_the_page_of_changes_tells_what_breaks_and_marks_the_words(tool: Tool) -> None:
    url = reverse("registry:version_diff", args=[tool.pk, 1, 3])
    content = client_of(factories.make_user()).get(url).content.decode()

    assert "1 breaking change, 2 changes of text." in content
    assert "“limit” is new and required (a whole number)." in content
    assert "with a <ins>long </ins>text" in content
    assert "<ins>useful </ins>" in content


def test_the_first_version_is_told_as_all_that_is_new(tool: Tool) -> None:
    url = reverse("registry:version_diff", args=[tool.pk, 0, 1])
    content = client_of(factories.make_user()).get(url).content.decode()

    assert "“text” is new and required (text)." in content
    assert "breaking" not in content.split("<main")[1].lower().replace("is-breaking", "")


def test_the_api_tells_each_difference_with_its_effect(tool: Tool) -> None:
    body = (
        client_of(factories.make_user()).get(f"/api/v1/tools/{tool.pk}/versions/1/diff/2/").json()
    )

    assert (body["from"], body["to"], body["breaking"]) == (1, 2, True)
    assert body["differences"][0] == {
        "part": "input",
        "path": "$.limit",
        "kind": "added",
        "effect": "breaking",
        "before": None,
        "after": {"type": "integer"},
        "message": "“limit” is new and required (a whole number).",
    }


def test_a_version_that_is_not_there_is_named(tool: Tool) -> None:
    answer = client_of(factories.make_user()).get(f"/api/v1/tools/{tool.pk}/versions/1/diff/9/")

    assert answer.status_code == 404
    assert "has no version 9" in answer.json()["message"]


def test_what_was_never_approved_is_shown_to_its_makers_and_to_those_who_govern() -> None:
    owner = factories.make_user()
    tool = factories.make_tool(
        owner=owner, visibility=Visibility.PRIVATE, review_status=ReviewStatus.CANDIDATE
    )
    changed(
        tool,
        description="Second.",
        visibility=Visibility.PUBLIC,
        review_status=ReviewStatus.APPROVED,
    )
    url = f"/api/v1/tools/{tool.pk}/versions/"

    def numbers(user: User) -> list[int]:
        return [item["number"] for item in client_of(user).get(url).json()["results"]]

    assert numbers(owner) == numbers(reviewer()) == [2, 1]
    assert numbers(factories.make_user()) == [2]
    refused = client_of(factories.make_user()).get(f"{url}1/diff/2/")
    assert refused.status_code == 404


def test_the_history_of_anothers_private_tool_is_not_shown() -> None:
    tool = factories.make_tool(owner=factories.make_user(), visibility=Visibility.PRIVATE)
    stranger = client_of(factories.make_user())

    assert stranger.get(reverse("registry:version_list", args=[tool.pk])).status_code == 404
    assert stranger.get(f"/api/v1/tools/{tool.pk}/versions/0/diff/1/").status_code == 404


def test_a_long_history_is_paged_in_a_fixed_number_of_queries(
    tool: Tool, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        changed(tool, description=f"Version number {number}.")
    client = client_of(factories.make_user())
    url = reverse("registry:version_list", args=[tool.pk])

    with django_assert_max_num_queries(8):
        first = client.get(url).content.decode()
    assert "?below=14" in first
    second = client.get(url, {"below": "14"}).content.decode()
    assert "Compare from version 13" in second
    assert "Compare from version 14" not in second
