"""An agent's own programs, and what a governor decides about programs that named themselves."""

import secrets

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from agents.models import Agent, OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.generators import SECRET
from config.lib.changes import decided
from config.lib.errors import Conflict, InvalidInput, NotAllowed, NotFound
from config.lib.jsontext import clean_text

MOST_CLIENTS = 20
"""Programs of one agent."""

LONGEST_NAME = 80
SOURCE = OAuthClient.RegistrationSource


def clients_of(agent: Agent) -> QuerySet[OAuthClient]:
    """Return an agent's own programs, the newest first."""
    return OAuthClient.objects.filter(agent=agent, user=agent.owner).order_by("-created", "-pk")


def clients_owned_by(user: User) -> QuerySet[OAuthClient]:
    """Return the programs of all agents of a person, the newest first."""
    owned = OAuthClient.objects.filter(agent__owner=user, user=user)
    return owned.select_related("agent").order_by("-created", "-pk")


def client_owned_by(user: User, client_id: int) -> OAuthClient:
    """Return a program of one of a person's agents, or raise NotFound."""
    client = clients_owned_by(user).filter(pk=client_id).first() if client_id < 2**63 else None
    if client is None:
        raise NotFound("There is no such program among those of your agents.", "See your agents.")
    return client


@transaction.atomic
def client_make(agent: Agent, *, name: str) -> tuple[OAuthClient, str]:
    """Make a program of an agent; return it with its secret, which cannot be shown again."""
    name = clean_text(name).strip()
    if not name or len(name) > LONGEST_NAME:
        raise InvalidInput(
            f"A program needs a name of at most {LONGEST_NAME} characters.",
            "Name it after where it runs.",
        )
    Agent.objects.select_for_update().get(pk=agent.pk)  # one count at a time
    if clients_of(agent).count() >= MOST_CLIENTS:
        raise Conflict(f"{agent.name} has {MOST_CLIENTS} programs.", "Delete one first.")
    secret = _new_secret()
    client = OAuthClient.objects.create(
        name=name,
        user=agent.owner,
        agent=agent,
        client_type=OAuthClient.CLIENT_CONFIDENTIAL,
        authorization_grant_type=OAuthClient.GRANT_CLIENT_CREDENTIALS,
        client_secret=secret,
        secret_set_at=timezone.now(),
    )
    return client, secret


@transaction.atomic
def client_rotate(client: OAuthClient) -> str:
    """Give a program another secret and return it; tokens got with the old one end at once."""
    secret = _new_secret()
    client.client_secret, client.secret_set_at = secret, timezone.now()
    client.save(update_fields=["client_secret", "secret_set_at", "updated"])
    end_tokens(client)
    return secret


def client_delete(client: OAuthClient) -> None:
    """Delete a program; its tokens end with it."""
    client.delete()


@transaction.atomic
def client_decide(client: OAuthClient, state: ClientState, *, by: User, reason: str = "") -> None:
    """Allow or refuse a program that named itself; refused, all that it holds ends at once."""
    if not by.has_perm("agents.change_oauthclient"):
        raise NotAllowed(
            "Only governors decide about programs.", "Ask an administrator for the role."
        )
    if client.agent_id is not None:
        raise InvalidInput(
            "This is an agent's own program.", "Its owner deletes it on the agent's page."
        )
    with decided(by, reason or f"Program {state.label.lower()}"):
        client.state, client.decided_by = state, by
        client.save(update_fields=["state", "decided_by", "updated"])
        if state != ClientState.ALLOWED:
            end_tokens(client)


def client_held(pk: int) -> OAuthClient | None:
    """Return a program as it is now, and keep others from it until the transaction ends.

    Who makes tokens for it and who ends them come one after the other by this.
    """
    return OAuthClient.objects.select_for_update(no_key=True).filter(pk=pk).first()


@transaction.atomic
def end_tokens(client: OAuthClient, user: User | None = None) -> None:
    """End all that a program holds: for one person, or for everybody."""
    client_held(client.pk)
    of = {"application": client} if user is None else {"application": client, "user": user}
    Grant.objects.filter(**of).delete()
    RefreshToken.objects.filter(**of).delete()
    AccessToken.objects.filter(**of).delete()


def _new_secret() -> str:
    return SECRET + secrets.token_urlsafe(32)
