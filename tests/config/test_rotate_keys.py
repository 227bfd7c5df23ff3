"""`manage.py rotate_keys`: every sealed value of every model under the newest key."""

from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import models

from agents.credentials import env_of, reveal
from agents.models import Credential
from agents.services import credential_set
from chat.models import ConversationSecret
from chat.variables import env_with_variables, variables_remember
from config import sealed
from config.diagnosis import parts
from config.diagnosis.finding import Trouble
from config.lib.sealing import SealedField, has_newest_key
from registry.context import CallContext, no_env
from registry.loading import load_spec
from registry.models.invocation import Caller
from sequences.context import context_of
from sequences.launch import new_run
from sequences.models import Run
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice) -> Run:
    """A run that waits, with a value that was given to it; and a value at each other level."""
    agent = factories.make_agent(alice, name="Helper")
    credential_set(alice, name="KEY", value="the person's")
    credential_set(alice, name="KEY", value="the agent's", agent=agent)
    variables_remember(factories.make_conversation(alice, agent), {"KEY": "the conversation's"})
    context = CallContext(user=alice, caller=Caller.REST).with_given({"KEY": "the call's"})
    return new_run(load_spec(factories.make_sequence(alice)), {}, context)


def rotated(*options: str) -> str:
    out = StringIO()
    call_command("rotate_keys", *options, stdout=out, stderr=out)
    return out.getvalue()


def fresh_key(settings, *, keep_old: bool = True) -> None:
    old = list(settings.ENCRYPTION_KEYS) if keep_old else []
    settings.ENCRYPTION_KEYS = (Fernet.generate_key().decode(), *old)


def test_every_value_is_sealed_with_the_newest_key_and_still_the_same(run, alice, settings):
    fresh_key(settings)
    assert "4 sealed anew, 0 had the newest key." in rotated()
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    agent = Credential.objects.get(agent__isnull=False).agent
    assert env_of(alice, None)(["KEY"]) == {"KEY": "the person's"}
    assert env_of(alice, agent)(["KEY"]) == {"KEY": "the agent's"}
    conversation = ConversationSecret.objects.get().conversation
    assert env_with_variables(conversation.pk, no_env)(["KEY"]) == {"KEY": "the conversation's"}
    assert context_of(Run.objects.get()).env(["KEY"]) == {"KEY": "the call's"}


def test_a_rotation_that_was_broken_off_is_taken_up(run, settings):
    fresh_key(settings)

    def stop(number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sealed.rotate(stop)
    assert "2 sealed anew, 2 had the newest key." in rotated()


def test_a_value_that_is_changed_during_the_rotation_keeps_its_change(run, alice, settings):
    fresh_key(settings)
    value = next(v for v in sealed.sealed_values() if v.name == "credential KEY of alice")
    credential_set(alice, name="KEY", value="changed")
    value.renew()
    assert reveal(Credential.objects.get(agent=None)) == "changed"


def test_what_no_key_opens_is_named_with_its_owner_and_left_alone(run, alice, settings):
    credential_set(alice, name="LOST", value="x")
    before = bytes(Credential.objects.get(name="LOST").ciphertext)
    old = settings.ENCRYPTION_KEYS
    fresh_key(settings, keep_old=False)
    credential_set(alice, name="LATER", value="canary-value")
    for options in ([], ["--check"]):
        out = StringIO()
        with pytest.raises(CommandError, match="5 of 6 sealed values cannot be opened"):
            call_command("rotate_keys", *options, stdout=out, stderr=out)
        told = out.getvalue()
        assert "credential KEY of alice, for the agent Helper" in told
        assert "values given to run" in told
        assert "KEY of alice, for the conversation" in told
        assert "canary" not in told
    assert bytes(Credential.objects.get(name="LOST").ciphertext) == before
    settings.ENCRYPTION_KEYS = (*settings.ENCRYPTION_KEYS, *old)
    assert "5 sealed anew, 1 had the newest key." in rotated()


def test_a_check_changes_nothing(run, settings):
    fresh_key(settings)
    assert "4 sealed values can be opened." in rotated("--check")
    assert not any(has_newest_key(value.sealed) for value in sealed.sealed_values())


def test_the_doctor_counts_what_cannot_be_opened(run, settings):
    assert parts.sealed() == "All 4 sealed values can be opened."
    fresh_key(settings, keep_old=False)
    with pytest.raises(Trouble, match="4 of 4 sealed values cannot be opened"):
        parts.sealed()


def test_every_field_of_bytes_is_known_as_sealed_or_as_not():
    """A new field of bytes must be told from a sealed one by its class."""
    plain = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.BinaryField) and not isinstance(field, SealedField)
    }
    assert plain <= {
        "chat.Artifact.content",
        "sequences.RunArtifact.content",
        "registry.ToolVector.digest",
        "registry.ToolVector.vector",
    }
