"""Rules of approval, by page and by REST."""

import uuid

import pytest
from django.urls import reverse

from agents.approval_rules import MOST_RULES
from agents.models import Agent, AgentTool, ApprovalRule
from tests.agents.test_api import bearer
from tests.factories import make_agent, make_builtin, make_tool

pytestmark = pytest.mark.django_db
JSON = "application/json"


def text(answer) -> str:
    return answer.content.decode()


def test_the_owner_sets_the_default_adds_a_rule_sees_what_it_catches_and_removes_it(
    client_for, alice
) -> None:
    agent = make_agent(alice, make_builtin(), make_tool(wire_name="post_it"))
    client, url = client_for(alice), reverse("agents:agent_approvals", args=[agent.slug])
    rules = reverse("agents:rule_create", args=[agent.slug])

    assert client.post(url, {"approval_default": "ask_writes"}).status_code == 302
    assert "This agent asks before a tool that does more than read." in text(client.get(url))
    assert client.post(rules, {"pattern": " post_* ", "effect": "deny"}).status_code == 302
    page = text(client.get(url))
    assert "The rule “deny post_*” of this agent catches post_it." in page
    assert "Catches <code>post_it</code>." in page

    rule = ApprovalRule.objects.get()
    client.post(rules, {"pattern": "post_*", "effect": "allow"})
    rule.refresh_from_db()
    assert rule.effect == "allow"
    client.post(reverse("agents:rule_delete", args=[agent.slug, rule.pk]))
    assert not ApprovalRule.objects.exists()


def test_a_bad_pattern_is_shown_again_with_what_is_wrong(client_for, alice) -> None:
    agent = make_agent(alice)
    answer = client_for(alice).post(
        reverse("agents:rule_create", args=[agent.slug]), {"pattern": "@nice", "effect": "ask"}
    )

    assert answer.status_code == 400
    assert "There is no annotation “@nice”." in text(answer)
    assert 'value="@nice"' in text(answer)


def test_while_a_pattern_is_typed_the_page_tells_what_it_catches(client_for, alice) -> None:
    agent = make_agent(alice, make_builtin(), make_tool(wire_name="post_it"))
    client, url = client_for(alice), reverse("agents:rule_preview", args=[agent.slug])

    assert "Catches 1 linked tool: <code>post_it</code>." in text(
        client.get(url, {"pattern": "@writes"})
    )
    assert "Catches none of the linked tools" in text(client.get(url, {"pattern": "zzz*"}))
    assert "There is no annotation" in text(client.get(url, {"pattern": "@x"}))
    assert "is told here" in text(client.get(url))


def test_links_are_set_together_and_a_forged_value_changes_none(client_for, alice) -> None:
    first, second = make_builtin(), make_tool()
    agent = make_agent(alice, first, second)
    client, url = client_for(alice), reverse("agents:link_approvals", args=[agent.slug])

    sent = {f"approval-{first.pk}": "allow", f"approval-{second.pk}": "deny"}
    assert client.post(url, sent).status_code == 302
    assert dict(AgentTool.objects.values_list("tool_id", "approval")) == {
        first.pk: "allow",
        second.pk: "deny",
    }
    forged = client.post(url, {f"approval-{first.pk}": "perhaps"})
    assert forged.status_code == 400
    assert "“perhaps” is nothing that a link can say." in text(forged)
    assert client.post(url, {"approval-x": "ask"}).status_code == 400


@pytest.mark.parametrize("name", ["agent_approvals", "rule_preview"])
def test_a_team_mate_may_talk_to_the_agent_but_not_see_or_change_its_rules(
    client_for, alice, bob, team, name
) -> None:
    agent = make_agent(alice, visibility="team", team=team)
    assert client_for(bob).get(reverse(f"agents:{name}", args=[agent.slug])).status_code == 404
    create = reverse("agents:rule_create", args=[agent.slug])
    assert client_for(bob).post(create, {"pattern": "*", "effect": "allow"}).status_code == 404
    links = reverse("agents:link_approvals", args=[agent.slug])
    assert client_for(bob).post(links, {}).status_code == 404
    assert not ApprovalRule.objects.exists()


def test_rules_are_made_listed_and_removed_by_rest(alice) -> None:
    agent = make_agent(alice, make_builtin(), approval_default="ask")
    client, url = bearer(alice), f"/api/v1/agents/{agent.slug}/approval-rules/"

    made = client.post(url, {"pattern": "calc*", "effect": "deny"}, content_type=JSON)
    assert (made.status_code, made.json()["catches"]) == (201, ["calculator"])
    client.post(url, {"pattern": "@writes", "effect": "ask"}, content_type=JSON)
    listed = client.get(url).json()
    assert listed["default"] == "ask"
    assert [(rule["effect"], rule["pattern"]) for rule in listed["results"]] == [
        ("deny", "calc*"),
        ("ask", "@writes"),
    ]
    assert client.delete(f"{url}?id={made.json()['id']}").status_code == 204
    again = client.delete(url, {"id": made.json()["id"]}, content_type=JSON)
    assert (again.status_code, again.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"pattern": "", "effect": "ask"}, "bad_approval_pattern"),
        ({"pattern": "x" * 201, "effect": "ask"}, "bad_approval_pattern"),
        ({"pattern": "@x", "effect": "ask"}, "bad_approval_pattern"),
        ({"pattern": "x", "effect": "perhaps"}, "invalid_input"),
        ({}, "invalid_input"),
    ],
)
def test_a_bad_rule_is_a_400_with_a_code(alice, body, code) -> None:
    url = f"/api/v1/agents/{make_agent(alice).slug}/approval-rules/"
    answer = bearer(alice).post(url, body, content_type=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_strangers_and_team_mates_change_no_rule_by_rest_and_scopes_count(
    alice, bob, charlie, team
) -> None:
    agent = make_agent(alice, visibility="team", team=team)
    url, body = f"/api/v1/agents/{agent.slug}/approval-rules/", {"pattern": "*", "effect": "allow"}

    assert bearer(charlie).get(url).status_code == 404
    assert bearer(bob).get(url).status_code == 200
    assert bearer(bob).post(url, body, content_type=JSON).status_code == 404
    assert bearer(bob).delete(f"{url}?id={uuid.uuid4()}").status_code == 404
    assert bearer(alice, "agents:read").post(url, body, content_type=JSON).status_code == 403


def test_an_agent_has_no_more_rules_than_can_be_read_at_each_call(alice) -> None:
    agent = make_agent(alice)
    ApprovalRule.objects.bulk_create(
        ApprovalRule(agent=agent, pattern=f"t{number}", effect="ask")
        for number in range(MOST_RULES)
    )
    url = f"/api/v1/agents/{agent.slug}/approval-rules/"
    full = bearer(alice).post(url, {"pattern": "one_more", "effect": "ask"}, content_type=JSON)
    assert full.status_code == 400
    assert full.json()["message"].startswith("This agent has 100 rules")
    changed = bearer(alice).post(url, {"pattern": "t1", "effect": "deny"}, content_type=JSON)
    assert changed.status_code == 201


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ({"model": "a/b", "fallbackModels": ["a/b"]}, "fallback_models", "is the model itself"),
        (
            {"fallbackModels": ["", "a/b"]},
            "fallback_models",
            "One of the fallback models is empty.",
        ),
        ({"fallbackModels": ["a"] * 2}, "fallback_models", "is given twice"),
        ({"fallbackModels": list("abcdef")}, "fallback_models", "6 models are given"),
        ({"fallbackModels": ["a b"]}, "fallback_models", "has no blanks"),
        ({"maxSteps": 0}, "$.maxSteps", ""),
        ({"schemaBudget": 1}, "$.schemaBudget", ""),
        ({"toolProtocol": "smoke"}, "$.toolProtocol", ""),
        ({"approvalDefault": "perhaps"}, "$.approvalDefault", ""),
    ],
)
def test_a_bad_setting_of_an_agent_is_told_beside_its_field(alice, body, path, message) -> None:
    answer = bearer(alice).post("/api/v1/agents/", {"name": "x", **body}, content_type=JSON)
    problem = answer.json()["extra"]["problems"][0]
    assert (answer.status_code, problem["path"]) == (400, path)
    assert message in problem["message"]


def test_the_form_takes_the_new_settings_and_opens_what_is_wrong(client_for, alice) -> None:
    form = {
        "name": "Helper",
        "discovery_mode": "filter",
        "max_found_tools": 3,
        "schema_budget": 900,
        "max_steps": 4,
        "approval_default": "ask_writes",
        "fallback_models": "a/b\n\nc/d\n",
        "tool_protocol": "text",
        "visibility": "private",
    }
    client, url = client_for(alice), reverse("agents:agent_create")
    assert client.post(url, form).status_code == 302
    agent = Agent.objects.get()
    assert (agent.schema_budget, agent.max_steps, agent.tool_protocol) == (900, 4, "text")
    assert (agent.approval_default, agent.fallback_models) == ("ask_writes", ["a/b", "c/d"])

    bad = client.post(url, {**form, "max_steps": 99})
    assert bad.status_code == 400
    assert "Choose a number from 1 to 50." in text(bad)
    assert '<details class="disclosure" open>' in text(bad)
    assert '<details class="disclosure">' in text(client.get(url))
