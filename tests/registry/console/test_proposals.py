"""The review queue: who sees it, who decides, and what a decision needs."""

import pytest
from django.urls import reverse

from registry.models import Package, Proposal
from registry.models.package import ReviewStatus
from registry.models.proposal import ProposalState
from tests.registry.console.making import DECIDES, READS, finding, make_staff
from tests.registry.review.making import bring, package, row, tool, waiting

pytestmark = pytest.mark.django_db

LIST = "admin:registry_proposal_changelist"
DECISIONS = {
    "approve": ProposalState.APPROVED,
    "reject": ProposalState.REJECTED,
    "quarantine": ProposalState.QUARANTINED,
}


def page_of(proposal):
    return reverse("admin:registry_proposal_change", args=[proposal.pk])


def act(client, action, *proposals, **more):
    chosen = {"action": action, "_selected_action": [str(item.pk) for item in proposals]}
    return client.post(reverse(LIST), {**chosen, **more}, follow=True)


@pytest.fixture
def judge(db):
    return make_staff("judge", *DECIDES)


@pytest.fixture
def auditor(db):
    return make_staff("auditor", *READS)


@pytest.fixture
def changed(alice, judge):
    """An approved package of which a new version waits."""
    bring(alice, tool(description="Shouts."))
    first = waiting()
    first.findings = []
    first.save()
    from registry.review.deciding import proposal_approve

    proposal_approve(first, by=judge, reason="Read it.")
    bring(alice, tool(description="Shouts louder."), tool("whisper"), version="1.1.0")
    return waiting()


def test_the_console_opens_on_what_waits(judge, client_for, changed):
    text = client_for(judge).get(reverse("admin:index")).content.decode()

    assert text.index("Review queue") < text.index("Broken") < text.index("Recent decisions")
    assert "@acme/shout" in text
    assert "1.0.0 → 1.1.0 · 1 tool changed, 1 new" in text
    assert "Read it." in text


def test_a_proposal_shows_what_changes_what_was_found_and_what_was_decided(
    judge, client_for, changed
):
    changed.findings = [
        finding("new_host", "block", path="package.settings.url"),
        finding("long_text", "warn"),
        finding("injection_order", "warn", introduced=False),
    ]
    changed.save()
    text = client_for(judge).get(page_of(changed)).content.decode()

    assert text.index("What new_host found.") < text.index("What long_text found.")
    assert text.index("What long_text found.") < text.index("What injection_order found.")
    assert "<ins>" in text  # the words of the description that are other
    assert "louder" in text
    assert "whisper" in text
    assert "Read it." in text
    assert 'name="accept" value="new_host"' in text


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_governor_decides_on_the_page(judge, client_for, changed, decision):
    client = client_for(judge)

    answer = client.post(page_of(changed), {"decision": decision, "reason": "Seen."}, follow=True)
    changed.refresh_from_db()
    assert (changed.state, changed.decision_reason) == (DECISIONS[decision], "Seen.")
    assert changed.decided_by == judge
    assert "@acme/shout" in answer.content.decode()
    louder = row().description == "Shouts louder."
    assert louder is (decision == "approve")
    assert package().review_status == ReviewStatus.APPROVED


def test_a_decision_needs_a_reason(judge, client_for, changed):
    answer = client_for(judge).post(page_of(changed), {"decision": "approve", "reason": " "})

    assert answer.status_code == 422
    assert "Say in a few words why" in answer.content.decode()
    changed.refresh_from_db()
    assert changed.state == ProposalState.OPEN


def test_findings_that_block_are_accepted_one_by_one(judge, client_for, changed):
    changed.findings = [finding("new_host", "block"), finding("new_secret", "block")]
    changed.save()
    client = client_for(judge)
    sent = {"decision": "approve", "reason": "Known.", "accept": ["new_host"]}

    answer = client.post(page_of(changed), sent)
    assert answer.status_code == 409
    assert "The scans found new_secret in what is proposed." in answer.content.decode()
    answer = client.post(page_of(changed), {**sent, "accept": ["new_host", "new_secret"]})
    assert answer.status_code == 302
    changed.refresh_from_db()
    assert changed.state == ProposalState.APPROVED


def test_what_was_decided_meanwhile_is_told(judge, client_for, changed):
    client = client_for(judge)
    sent = {"decision": "reject", "reason": "No."}
    client.post(page_of(changed), sent)

    answer = client.post(page_of(changed), sent)
    assert answer.status_code == 409
    assert "judge has rejected it already." in answer.content.decode()


def test_many_are_decided_on_with_one_reason(judge, alice, client_for):
    for number in range(3):
        bring(alice, name=f"@acme/many-{number}")
    proposals = list(Proposal.objects.order_by("package__name"))
    proposals[1].findings = [finding("new_host", "block")]
    proposals[1].save()
    client = client_for(judge)

    text = act(client, "approve", *proposals).content.decode()
    assert "1 of 3 will be refused" in text
    assert "Findings have to be accepted on its own page: new_host." in text
    assert not Package.objects.filter(review_status=ReviewStatus.APPROVED).exists()

    told = act(client, "approve", *proposals, decide="yes", reason="All three.").content.decode()
    assert "2 proposals approved." in told
    assert "The scans found new_host" in told
    states = Proposal.objects.order_by("package__name").values_list("state", flat=True)
    assert list(states) == ["approved", "open", "approved"]


def test_many_need_a_reason_too(judge, client_for, changed):
    text = act(client_for(judge), "reject", changed, decide="yes", reason="").content.decode()

    assert "Say in a few words why" in text
    changed.refresh_from_db()
    assert changed.state == ProposalState.OPEN


def test_no_more_than_can_be_read_are_decided_on_at_once(judge, client_for, changed, monkeypatch):
    monkeypatch.setattr("registry.admin.bulk.MOST_AT_ONCE", 0)

    text = act(client_for(judge), "reject", changed).content.decode()
    assert "At most 0 can be decided on at once; choose fewer." in text


@pytest.mark.parametrize("action", DECISIONS)
def test_an_auditor_reads_all_and_decides_nothing(auditor, client_for, changed, action):
    client = client_for(auditor)

    text = client.get(page_of(changed)).content.decode()
    assert "Shouts" in text
    assert 'name="decision"' not in text
    assert "A governor decides on it." in text
    sent = {"decision": action, "reason": "Mine."}
    assert client.post(page_of(changed), sent).status_code == 403
    listed = client.get(reverse(LIST)).content.decode()
    assert "@acme/shout" in listed
    assert '<option value="approve">' not in listed
    act(client, action, changed, decide="yes", reason="Mine.")
    changed.refresh_from_db()
    assert changed.state == ProposalState.OPEN


def test_whoever_may_change_proposals_but_no_packages_is_refused(client_for, changed):
    half = make_staff("half", "view_proposal", "change_proposal")

    answer = client_for(half).post(page_of(changed), {"decision": "approve", "reason": "Mine."})
    assert answer.status_code == 403
    assert "Only a reviewer decides on what is proposed." in answer.content.decode()
    told = act(client_for(half), "reject", changed, decide="yes", reason="Mine.").content.decode()
    assert "Only a reviewer decides" in told
    changed.refresh_from_db()
    assert changed.state == ProposalState.OPEN


def test_staff_without_the_permission_see_no_proposal(client_for, changed):
    client = client_for(make_staff("clerk", "view_tool"))

    assert client.get(page_of(changed)).status_code == 403
    assert client.get(reverse(LIST)).status_code == 403
    assert client.post(page_of(changed), {"decision": "approve", "reason": "x"}).status_code == 403
    text = client.get(reverse("admin:index")).content.decode()
    assert "Review queue" not in text
    assert "@acme/shout" not in text


@pytest.mark.parametrize("url", ["admin:index", LIST])
def test_people_outside_governance_stay_outside(alice, client_for, changed, url):
    for target in (reverse(url), page_of(changed)):
        for answer in (client_for(alice).get(target), client_for(alice).post(target, {})):
            assert answer.status_code == 302
            assert "/login/" in answer["Location"]


def test_nobody_adds_or_deletes_a_proposal(governor, client_for, changed):
    client = client_for(governor)

    assert client.get(reverse("admin:registry_proposal_add")).status_code == 403
    delete = reverse("admin:registry_proposal_delete", args=[changed.pk])
    assert client.post(delete, {"post": "yes"}).status_code == 403


def test_a_proposal_that_is_not_there_is_told(judge, client_for, changed):
    url = reverse("admin:registry_proposal_change", args=["no-such"])

    assert "There is no such proposal" in client_for(judge).get(url, follow=True).content.decode()


def test_the_queue_costs_the_same_however_long_it_is(
    judge, alice, client_for, django_assert_max_num_queries
):
    client = client_for(judge)
    for number in range(3):
        bring(alice, name=f"@acme/more-{number}")
    for url in (reverse("admin:index"), reverse(LIST)):
        with django_assert_max_num_queries(14) as few:
            client.get(url)
        for number in range(6):
            bring(alice, name=f"@acme/{url.count('/')}-even-more-{number}")
        with django_assert_max_num_queries(len(few)):
            client.get(url)
