"""Personal API tokens."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agents import tokens
from agents.models import ApiToken
from config.lib.errors import InvalidInput

pytestmark = pytest.mark.django_db


def test_a_token_is_recognised_by_its_text_and_kept_as_a_digest(alice):
    token, text = tokens.token_create(alice, name="script")

    assert tokens.token_of(text) == token
    assert text not in str(list(ApiToken.objects.values()))


def test_a_token_notes_when_it_was_used(alice):
    token, text = tokens.token_create(alice, name="script")
    tokens.token_of(text)

    token.refresh_from_db()
    assert token.last_used_at is not None


def test_an_expired_token_is_unknown(alice):
    token, text = tokens.token_create(alice, name="script")
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    assert tokens.token_of(text) is None


def test_a_revoked_token_is_unknown(alice):
    token, text = tokens.token_create(alice, name="script")
    tokens.token_revoke(alice, token.pk)

    assert tokens.token_of(text) is None


def test_nobody_revokes_another_persons_token(alice, charlie):
    token, text = tokens.token_create(alice, name="script")
    tokens.token_revoke(charlie, token.pk)

    assert tokens.token_of(text) == token


def test_the_token_of_a_person_who_left_is_unknown(alice):
    _, text = tokens.token_create(alice, name="script")
    alice.is_active = False
    alice.save()

    assert tokens.token_of(text) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": " "}, "needs a name"),
        ({"name": "x", "scopes": ["tools:all"]}, "no scope tools:all"),
        ({"name": "x", "expires_at": timezone.now() - timedelta(days=1)}, "lies in the past"),
    ],
)
def test_a_bad_token_request_is_refused_in_words(alice, fields, message):
    with pytest.raises(InvalidInput, match=message):
        tokens.token_create(alice, **fields)


def test_the_command_prints_the_token_alone_on_the_last_line(alice):
    output = StringIO()
    call_command("api_token", "alice", scope=["tools:read"], stdout=output)

    text = output.getvalue().strip().splitlines()[-1]
    assert tokens.token_of(text).scopes == ["tools:read"]


def test_the_command_says_when_there_is_no_such_person():
    with pytest.raises(CommandError, match="no active user “nobody”"):
        call_command("api_token", "nobody")


def test_a_token_carries_the_scopes_that_tools_require(alice, client_for):
    token, _ = tokens.token_create(alice, name="Mailer", scopes=["tools:run", "mail:send"])
    assert token.scopes == ["mail:send", "tools:run"]
    for slip, told in (("tools:raed", "There is no scope tools:raed"), ("Mail!", "is no scope")):
        with pytest.raises(InvalidInput, match=told):
            tokens.token_create(alice, name="Mailer", scopes=[slip])
    client, given = client_for(alice), {"name": "By form", "tool_scopes": "mail:send"}
    refused = client.post("/agents/tokens/", given)
    assert "Tick “tools:run” too" in refused.content.decode()
    client.post("/agents/tokens/", {**given, "scopes": ["tools:run"]})
    assert alice.api_tokens.get(name="By form").scopes == ["mail:send", "tools:run"]
