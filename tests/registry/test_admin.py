"""Governance: what a reviewer sees and may do, and that nobody rewrites history."""

import pytest
from django.urls import reverse

from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import ImportJob, Invocation, ToolVersion
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from tests.factories import make_tool

pytestmark = pytest.mark.django_db

MODELS = ["package", "tool", "toolversion", "invocation", "importjob"]
ENDINGS = {
    "approve": ReviewStatus.APPROVED,
    "reject": ReviewStatus.REJECTED,
    "quarantine": ReviewStatus.QUARANTINED,
}


def listing(model):
    return reverse(f"admin:registry_{model}_changelist")


def act(client, model, action, *items):
    chosen = {"action": action, "_selected_action": [str(item.pk) for item in items]}
    return client.post(listing(model), chosen, follow=True)


@pytest.fixture
def rows(alice):
    """One row of each model; the call is refused, for there is no artifact."""
    tool = make_tool()
    invoke(load_spec(tool), {"text": "x"}, CallContext(user=alice, caller=Caller.REST))
    ImportJob.objects.create(ecosystem="npm", name="x", requested_by=alice)
    return {
        "package": tool.package,
        "tool": tool,
        "toolversion": ToolVersion.objects.get(),
        "invocation": Invocation.objects.get(),
        "importjob": ImportJob.objects.get(),
    }


@pytest.mark.parametrize("model", MODELS)
def test_every_list_and_page_opens(governor, client_for, rows, model):
    client = client_for(governor)

    assert client.get(listing(model)).status_code == 200
    assert client.get(f"{listing(model)}?q=tool").status_code == 200
    change = reverse(f"admin:registry_{model}_change", args=[rows[model].pk])
    assert client.get(change).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_added_or_deleted_by_hand(governor, client_for, rows, model):
    client = client_for(governor)

    assert client.get(reverse(f"admin:registry_{model}_add")).status_code == 403
    delete = reverse(f"admin:registry_{model}_delete", args=[rows[model].pk])
    assert client.post(delete, {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", ["toolversion", "invocation", "importjob"])
def test_records_cannot_be_changed(governor, client_for, rows, model):
    change = reverse(f"admin:registry_{model}_change", args=[rows[model].pk])

    assert client_for(governor).post(change, {}).status_code == 403


def test_a_person_who_is_no_staff_stays_outside(alice, client_for):
    assert client_for(alice).get(listing("package")).status_code == 302


@pytest.mark.parametrize("model", ["package", "tool"])
def test_lists_ask_the_database_no_more_often_for_more_rows(
    governor, client_for, django_assert_max_num_queries, model
):
    client = client_for(governor)
    for _ in range(10):
        make_tool()
    with django_assert_max_num_queries(12):
        client.get(listing(model))
