"""Packages and tools in the console: what lists say, and how many are decided on at once."""

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from registry.models import Package, Tool, ToolUsageDay
from registry.models.package import ReviewStatus
from registry.models.proposal import ProposalState
from registry.services import tool_publish
from tests.factories import make_agent, make_package, make_sequence, make_tool
from tests.registry.console.making import DECIDES, READS, finding, make_proposal, make_staff

pytestmark = pytest.mark.django_db

ENDINGS = {
    "approve": ReviewStatus.APPROVED,
    "reject": ReviewStatus.REJECTED,
    "quarantine": ReviewStatus.QUARANTINED,
}


def listing(model):
    return reverse(f"admin:registry_{model}_changelist")


def page_of(item):
    return reverse(f"admin:registry_{item._meta.model_name}_change", args=[item.pk])


def act(client, action, *items, **more):
    chosen = {"action": action, "_selected_action": [str(item.pk) for item in items]}
    url = listing(items[0]._meta.model_name)
    page = client.post(url, chosen, follow=True)
    seen = (page.context or {}).get("seen", [])
    return client.post(url, {**chosen, "seen": seen, **more}, follow=True).content.decode()


def used(tool, calls, succeeded, **fields):
    values = {"failed": calls - succeeded, "refused": 0, "faults": 0, "total_ms": calls}
    ToolUsageDay.objects.create(
        tool=tool,
        day=timezone.now().date(),
        caller="chat",
        calls=calls,
        succeeded=succeeded,
        durations=[],
        last_at=timezone.now(),
        **{**values, **fields},
    )


@pytest.fixture
def judge(db):
    return make_staff("judge", *DECIDES)


@pytest.fixture
def auditor(db):
    return make_staff("auditor", *READS)


@pytest.mark.parametrize(("action", "status"), ENDINGS.items())
@pytest.mark.parametrize("model", ["package", "tool"])
def test_several_are_reviewed_with_a_reason(judge, client_for, action, status, model):
    before = ReviewStatus.CANDIDATE
    packages = [make_package(review_status=before) for _ in range(2)]
    tools = [make_tool(package=item, review_status=before) for item in packages]
    items = packages if model == "package" else tools
    client = client_for(judge)

    between = act(client, action, *items)
    assert all(str(item) in between for item in items)
    assert {type(item).objects.get(pk=item.pk).review_status for item in items} == {before}

    text = act(client, action, *items, decide="yes", reason="We looked at them.")
    assert f"2 {model}s {status.label.lower()}." in text
    assert {type(item).objects.get(pk=item.pk).review_status for item in items} == {status}
    entry = LogEntry.objects.filter(object_id=str(items[0].pk)).latest("pk")
    assert (entry.user, entry.change_message) == (judge, f"{status.label}: We looked at them.")


def test_what_would_be_refused_is_told_before_and_after(judge, client_for):
    fine, blocked, done = (
        make_package(name="@acme/fine", review_status=ReviewStatus.CANDIDATE),
        make_package(name="@acme/blocked", review_status=ReviewStatus.CANDIDATE),
        make_package(name="@acme/done"),
    )
    make_proposal(fine)
    make_proposal(blocked, findings=[finding("hidden_characters", "block")])
    client = client_for(judge)

    text = act(client, "approve", fine, blocked, done)
    assert "2 of 3 will be refused" in text
    assert "Findings have to be accepted in its review: hidden_characters." in text
    assert "It is approved already." in text

    text = act(client, "approve", fine, blocked, done, decide="yes", reason="Read.")
    assert "1 package approved." in text
    assert "The scans found hidden_characters" in text
    statuses = Package.objects.filter(name__startswith="@acme/").order_by("name")
    assert list(statuses.values_list("review_status", flat=True)) == [
        *("candidate", "approved", "approved")
    ]
    assert fine.proposals.get().state == ProposalState.APPROVED


def test_what_uses_them_is_told_before_they_are_taken_away(judge, alice, client_for):
    tool = make_tool()
    make_agent(alice, tool, name="Announcer")

    text = act(client_for(judge), "quarantine", tool, make_tool())
    assert "1 agent" in text
    assert "Announcer" in text


def test_from_its_own_page_one_comes_back_to_it(judge, client_for):
    package = make_package()
    client = client_for(judge)

    text = client.get(page_of(package)).content.decode()
    assert 'name="action" value="quarantine"' in text
    assert 'name="action" value="approve"' not in text
    sent = {"action": "quarantine", "_selected_action": [str(package.pk)], "from": "page"}
    answer = client.post(listing("package"), {**sent, "decide": "yes", "reason": "Odd."})
    assert answer["Location"] == page_of(package)


def test_the_status_is_not_edited_by_the_form(judge, client_for):
    package = make_package(review_status=ReviewStatus.CANDIDATE)
    sent = {
        "review_status": "approved",
        "name": "@evil/renamed",
        "allowed_hosts": "",
        "tools-TOTAL_FORMS": "0",
        "tools-INITIAL_FORMS": "0",
    }

    assert client_for(judge).post(page_of(package), sent).status_code == 302
    stored = Package.objects.get(pk=package.pk)
    assert (stored.review_status, stored.name) == ("candidate", package.name)


@pytest.mark.parametrize("action", ENDINGS)
@pytest.mark.parametrize("model", ["package", "tool"])
def test_an_auditor_sees_all_and_changes_nothing(auditor, client_for, action, model):
    tool = make_tool(package=make_package(review_status=ReviewStatus.CANDIDATE))
    item = tool if model == "tool" else tool.package
    before = item.review_status
    client = client_for(auditor)

    text = client.get(page_of(item)).content.decode()
    assert f'name="action" value="{action}"' not in text
    assert 'name="_save"' not in text
    assert f'<option value="{action}">' not in client.get(listing(model)).content.decode()
    act(client, action, item, decide="yes", reason="Mine.")
    assert type(item).objects.get(pk=item.pk).review_status == before
    assert client.post(page_of(item), {}).status_code == 403


def test_people_outside_governance_stay_outside(alice, client_for):
    tool = make_tool()
    for url in (listing("package"), listing("tool"), page_of(tool), page_of(tool.package)):
        assert client_for(alice).get(url).status_code == 302
        answer = client_for(alice).post(url, {"action": "approve", "decide": "yes"})
        assert "/login/" in answer["Location"]


def test_staff_without_the_permission_see_nothing(client_for):
    tool = make_tool()
    client = client_for(make_staff("clerk"))
    for url in (listing("package"), listing("tool"), page_of(tool), page_of(tool.package)):
        assert client.get(url).status_code == 403
        assert client.post(url, {}).status_code == 403


def test_lists_say_how_tools_fare_and_who_uses_them(judge, alice, client_for):
    tool = make_tool(wire_name="acme_shout")
    make_agent(alice, tool)
    make_agent(alice, tool)
    used(tool, 1200, 900)
    make_proposal(tool.package)
    client = client_for(judge)

    row = client.get(listing("tool")).content.decode()
    assert 'class="field-calls">1,200<' in row
    assert 'class="field-success">75%<' in row
    assert 'class="field-agents">2<' in row
    row = client.get(listing("package")).content.decode()
    assert 'class="field-calls">1,200<' in row
    assert 'class="field-tools">1<' in row
    assert ">Decide</a>" in row


def test_tools_taken_out_are_shown_when_asked_for(judge, client_for):
    make_tool(wire_name="here")
    make_tool(wire_name="gone", deleted_at=timezone.now())
    client = client_for(judge)

    def shown(query):
        text = client.get(f"{listing('tool')}{query}").content.decode()
        return {name for name in ("here", "gone") if f">{name}</a>" in text}

    assert shown("") == {"here"}
    assert shown("?presence=gone") == {"gone"}
    assert shown("?presence=all") == {"here", "gone"}


def test_a_tool_links_the_changes_of_its_versions(judge, client_for):
    tool = make_tool()
    tool.description = "Does more."
    tool_publish(tool, author=judge)

    text = client_for(judge).get(page_of(tool)).content.decode()
    assert reverse("registry:version_diff", args=[tool.pk, 1, 2]) in text
    assert "From version 1" in text


def test_no_page_offers_a_list_of_everybody_or_of_every_tool(judge, governor, alice, client_for):
    tool = make_tool()
    sequence = make_sequence(alice)
    for item in (tool, sequence, tool.package):
        text = client_for(governor).get(page_of(item)).content.decode()
        assert "<option" not in text


@pytest.mark.parametrize("model", ["package", "tool"])
@pytest.mark.parametrize(
    "query", ["", "?q=acme", "?health=broken", "?review_status__exact=approved"]
)
def test_a_list_costs_the_same_however_long_it_is(
    judge, client_for, model, query, django_assert_max_num_queries
):
    if model == "package" and "health" in query:
        pytest.skip("Packages have no health of their own.")
    client = client_for(judge)
    url = f"{listing(model)}{query}"

    def more(count):
        for _ in range(count):
            tool = make_tool(package=make_package(name=f"@acme/{timezone.now().timestamp()}"))
            used(tool, 3, 2)

    more(2)
    with django_assert_max_num_queries(14) as few:
        client.get(url)
    more(8)
    with django_assert_max_num_queries(len(few)):
        client.get(url)


def test_a_tool_page_costs_the_same_however_many_versions(
    judge, client_for, django_assert_max_num_queries
):
    tool = make_tool()
    client = client_for(judge)
    with django_assert_max_num_queries(20) as few:
        client.get(page_of(tool))
    for number in range(5):
        stored = Tool.objects.get(pk=tool.pk)
        stored.description = f"Does {number} things."
        tool_publish(stored, author=judge)
    with django_assert_max_num_queries(len(few)):
        client.get(page_of(tool))
