"""People are deleted in the admin: what goes with them, what keeps them, and what races."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connections
from django.db.models.signals import pre_delete
from django.test import Client
from django.urls import reverse
from oauth2_provider.models import AccessToken, RefreshToken

from agents.models import ApiToken, Credential
from agents.services import credential_set
from agents.tokens import token_create
from chat.models import Conversation
from registry.admin import leaving
from registry.models import EventSubscription
from sequences.models import Schedule, SequenceDraft, Webhook
from tests import factories
from tests.agents.oauth.flows import Person, make_client
from tests.live import eventually, waits_for_lock

pytestmark = pytest.mark.django_db(transaction=True)

OWNED = (
    *(ApiToken, Credential, AccessToken, RefreshToken),
    *(Schedule, Webhook, SequenceDraft, EventSubscription),
)


@pytest.fixture
def admin(governor: User, client_for: Any) -> Client:
    client: Client = client_for(governor)
    return client


def delete_one(admin: Client, *people: User) -> Any:
    url = reverse("admin:auth_user_delete", args=[people[0].pk])
    return admin.post(url, {"post": "yes"})


def delete_several(admin: Client, *people: User) -> Any:
    chosen = [str(person.pk) for person in people]
    sent = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    return admin.post(reverse("admin:auth_user_changelist"), sent)


BOTH = pytest.mark.parametrize("delete", [delete_one, delete_several])


@BOTH
def test_what_belongs_to_a_person_goes_with_them(
    admin: Client, alice: User, bob: User, client_for: Any, delete: Any
) -> None:
    sequence = factories.make_sequence(alice)
    Person(client_for(bob)).token(make_client())
    token_create(bob, name="script")
    credential_set(bob, name="EXA_API_KEY", value="a-value-of-bobs")
    factories.make_schedule(bob, sequence)
    factories.make_webhook(bob, sequence)
    factories.make_event_subscription(bob)
    SequenceDraft.objects.create(owner=bob, document={})
    assert all(model._default_manager.exists() for model in OWNED)
    assert delete(admin, bob).status_code == 302
    assert not User.objects.filter(pk=bob.pk).exists()
    assert not any(model._default_manager.exists() for model in OWNED)


@BOTH
def test_what_a_person_made_keeps_them_and_is_named(
    admin: Client, alice: User, bob: User, delete: Any
) -> None:
    agent = factories.make_agent(alice)
    for _ in range(3):
        factories.make_conversation(alice, agent)
    token_create(alice, name="script")
    answer = delete(admin, alice, bob)
    page = answer.content.decode()
    assert answer.status_code == 200 and "Cannot delete" in page
    assert "alice: 1 agent, 3 conversations" in page
    assert "Take “Active” away from them instead" in page and "permission" not in page
    assert User.objects.filter(pk__in=[alice.pk, bob.pk]).count() == 2
    assert ApiToken.objects.filter(user=alice).exists()


def test_nothing_is_counted_for_long_of_somebody_who_made_a_lot(
    admin: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "MOST_COUNTED", 2)
    agent = factories.make_agent(alice)
    for _ in range(4):
        factories.make_conversation(alice, agent)
    page = delete_one(admin, alice).content.decode()
    assert "alice: 1 agent, more than 2 conversations" in page


def test_who_may_not_delete_people_deletes_nobody(bob: User, client_for: Any) -> None:
    clerk = factories.make_user("clerk", is_staff=True)
    admin = client_for(clerk)
    assert delete_one(admin, bob).status_code == 403
    assert delete_several(admin, bob).status_code == 403
    assert User.objects.filter(pk=bob.pk).exists()


@BOTH
def test_what_is_made_for_a_person_while_they_are_deleted_is_refused(
    admin: Client, alice: User, bob: User, delete: Any
) -> None:
    agent = factories.make_agent(alice)
    saved = []

    def converse() -> None:
        try:
            Conversation.objects.create(user_id=bob.pk, agent=agent)
        finally:
            connections.close_all()

    def converse_now(**_: object) -> None:
        """Between the look for what keeps them and the deletion."""
        saved.append(pool.submit(converse))
        eventually(lambda: saved[0].done() or waits_for_lock(), what="the one who waits")

    with ThreadPoolExecutor(1) as pool:
        pre_delete.connect(converse_now, sender=User)
        try:
            assert delete(admin, bob).status_code == 302
        finally:
            pre_delete.disconnect(converse_now, sender=User)
        with pytest.raises(IntegrityError):
            saved[0].result()
    assert not User.objects.filter(pk=bob.pk).exists()


def test_a_closed_account_is_signed_out_at_once(
    admin: Client, alice: User, client_for: Any
) -> None:
    browser = client_for(alice)
    assert browser.get("/agents/").status_code == 200
    User.objects.filter(pk=alice.pk).update(is_active=False)
    answer = browser.get("/agents/")
    assert answer.status_code == 302 and answer["Location"].startswith("/login/")
