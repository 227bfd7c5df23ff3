"""Programs that sign in with OAuth."""

import re
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from oauth2_provider.models import AbstractApplication

from agents.models.agent import Agent
from registry.models.audit_triggers import audited

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Where a program on a person's own computer listens for the answer."""

NEVER = frozenset(
    {"about", "blob", "data", "file", "filesystem", "ftp", "intent", "javascript", "vbscript"}
    | {"view-source", "ws", "wss"}
)
"""Schemes that no answer is sent to: browsers run them, or show them as if they were ours."""

MOST_REDIRECTS = 20

PLAIN = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
"""The characters of an address (RFC 3986)."""


class ClientState(models.TextChoices):
    ALLOWED = "allowed", "Allowed"
    WAITING = "waiting", "Waits for a governor"
    REFUSED = "refused", "Refused"


class OAuthClient(AbstractApplication):
    """A registered OAuth client: an agent's own, a person's program, or one that named itself.

    With an `agent` it gets tokens by client credentials, which act as that agent for its owner
    (`user`). One that registered itself (`registration_source`) may have to wait for a governor.
    """

    agent = models.ForeignKey(
        Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="oauth_clients"
    )
    state = models.CharField(
        max_length=16, choices=ClientState, default=ClientState.ALLOWED, db_default="allowed"
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    last_used_at = models.DateTimeField(null=True, blank=True)
    secret_set_at = models.DateTimeField(
        null=True, blank=True, help_text="Told in the audit in the place of the secret itself."
    )

    class Meta(AbstractApplication.Meta):
        verbose_name = "OAuth client"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=ClientState.values), name="oauth_client_state_known"
            ),
        ]
        indexes = [models.Index(fields=["user", "-created"], name="oauth_client_user")]

        triggers = audited(
            "oauth_client",
            *("client_id", "user", "agent", "name", "client_type", "authorization_grant_type"),
            *("redirect_uris", "allowed_origins", "registration_source", "state", "decided_by"),
            *("skip_authorization", "secret_set_at"),
            label="coalesce(nullif(item.name, ''), item.client_id)",
        )

    def is_usable(self, request: Any) -> bool:
        """Say whether it may get tokens and use them: allowed, and its owner is still with us.

        A program of an agent goes with the agent, and with whoever owns that.
        """
        if self.state != ClientState.ALLOWED:
            return False
        if self.agent is not None and self.agent.owner_id != self.user_id:
            return False
        return self.user is None or self.user.is_active

    def get_allowed_schemes(self) -> list[str]:
        """Return the schemes of its addresses: https, http on loopback, or an app's own."""
        named = {urlsplit(uri).scheme.lower() for uri in self.redirect_uris.split()}
        return sorted({"https", *named} - NEVER)

    def clean(self) -> None:
        """Check the addresses that answers are sent to; plain http is for loopback alone."""
        uris = self.redirect_uris.split()
        for uri in uris:
            if problem := _problem_of(uri):
                raise ValidationError({"redirect_uris": f"{problem}: {uri[:200]}"})
        if len(uris) > MOST_REDIRECTS:
            raise ValidationError({"redirect_uris": f"At most {MOST_REDIRECTS} addresses."})
        super().clean()


def _problem_of(uri: str) -> str:
    """Return what is wrong with an address, of what browsers or people would take for another.

    What stands before an @ looks like a host, a backslash is a slash to browsers, and letters of
    other scripts look like Latin ones.
    """
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "This is no address"
    if not PLAIN.fullmatch(uri):
        return "An address holds only what RFC 3986 allows, other letters encoded"
    if "@" in parts.netloc:
        return "No name of a user belongs into an address"
    if parts.scheme.lower() == "http" and host not in LOOPBACK:
        return "Plain http is for loopback alone"
    return ""
