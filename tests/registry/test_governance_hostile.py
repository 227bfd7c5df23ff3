"""Small ways round what governance promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from registry.calling import call_directly, direct_context
from registry.importing.errors import InvalidUpload, PackageNotYours
from registry.importing.jobs import import_request, upload_request
from registry.limits import REFUSALS_KEPT
from registry.models import Invocation, Package, Upload
from registry.models.invocation import Caller
from registry.models.package import Ecosystem
from registry.roles import Role, role_give
from tests.factories import make_tool, make_user
from tests.registry.review.making import bring, package, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client

pytestmark = pytest.mark.django_db

MODULE = b'def hello(name: str) -> str:\n    """Greet."""\n    return name\n'


@pytest.mark.parametrize("decision", ["approve", "reject", "quarantine"])
def test_a_reason_that_cannot_be_stored_is_cleaned(
    alice: User, governor: User, client_for: Callable[[User], Client], decision: str
) -> None:
    bring(alice)
    url = reverse(f"registry:proposal_{decision}", args=[waiting().pk])
    answer = client_for(governor).post(url, {"reason": "No\x00pe"})
    assert answer.status_code == 302
    assert package().proposals.get().decision_reason.startswith("No\ufffdpe")


def test_what_somebody_else_uploaded_first_can_be_uploaded_too(alice: User, bob: User) -> None:
    first = upload_request(MODULE, filename="hello.py", user=alice, queued=False)
    again = upload_request(MODULE, filename="hello.py", user=bob, queued=False)
    assert (first.version, again.requested_by) == (again.version, bob)
    assert Upload.objects.count() == 1


def test_what_somebody_else_uploaded_is_not_imported_by_its_digest(alice: User, bob: User) -> None:
    job = upload_request(MODULE, filename="hello.py", user=alice, queued=False)
    with pytest.raises((InvalidUpload, PackageNotYours)):
        import_request(
            ecosystem=Ecosystem.UPLOAD, name="hello", version=job.version, user=bob, queued=False
        )
    assert not Package.objects.exists()


@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.AUDITOR])
def test_who_governs_or_audits_sees_which_registries_are_looked_through(
    role: Role, client_for: Callable[[User], Client]
) -> None:
    person = make_user("person")
    role_give(person, role)
    client = client_for(person)
    assert client.get(reverse("registry:sync_status")).status_code == 200
    assert client.get(reverse("admin:registry_syncfeed_changelist")).status_code == 200
    assert client.get(reverse("admin:registry_syncrun_changelist")).status_code == 200
    add = client.get(reverse("admin:registry_syncfeed_add")).status_code
    assert add == (200 if role is Role.GOVERNOR else 403)


def test_one_who_is_refused_again_and_again_does_not_fill_the_records(
    alice: User,
) -> None:
    tool = make_tool(required_scopes=["mail:send"])
    for code, scopes in (("permission_refused", ()), ("invalid_arguments", ("mail:send",))):
        context = direct_context(alice, caller=Caller.REST, scopes=frozenset(scopes))
        for _ in range(REFUSALS_KEPT + 10):
            call_directly(tool, {"text": 1}, context)
        assert Invocation.objects.filter(error_code=code).count() == REFUSALS_KEPT
