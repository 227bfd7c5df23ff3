"""Programs and tokens in the admin: governors decide and revoke; no secret or digest is shown."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from oauth2_provider.models import AccessToken, RefreshToken, revoke_access_token

from agents.models import OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.clients import client_decide
from config.lib.admin_lists import LongList
from config.lib.errors import DomainError


class Looked(LongList, admin.ModelAdmin[Any]):
    """What is only looked at."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ClientAdmin(Looked):
    """All programs; those that named themselves are allowed or refused here."""

    list_display = (
        *("name", "client_id", "state", "registration_source", "user", "agent"),
        *("created", "last_used_at"),
    )
    list_filter = ("state", "registration_source", "client_type")
    list_select_related = ("user", "agent")
    search_fields = ("name", "client_id", "user__username", "agent__slug")
    fields = (
        *("name", "client_id", "state", "decided_by", "registration_source", "client_type"),
        *("authorization_grant_type", "redirect_uris", "user", "agent", "created", "updated"),
        *("last_used_at", "secret_set_at"),
    )
    readonly_fields = fields
    ordering = ("-created", "-pk")
    actions = ("allow", "refuse")

    @admin.action(description="Allow the chosen programs", permissions=["change"])
    def allow(self, request: HttpRequest, chosen: QuerySet[OAuthClient]) -> None:
        """Let people let them in."""
        self._decide(request, chosen, ClientState.ALLOWED)

    @admin.action(
        description="Refuse the chosen programs; their tokens end", permissions=["change"]
    )
    def refuse(self, request: HttpRequest, chosen: QuerySet[OAuthClient]) -> None:
        """Let nobody let them in, and end all that they hold."""
        self._decide(request, chosen, ClientState.REFUSED)

    def _decide(
        self, request: HttpRequest, chosen: QuerySet[OAuthClient], state: ClientState
    ) -> None:
        done = 0
        for client in chosen:
            try:
                client_decide(client, state, by=request.user)  # type: ignore[arg-type]
            except DomainError as error:
                self.message_user(request, f"{client}: {error.message}", messages.ERROR)
            else:
                done += 1
        if done:
            word = "program is" if done == 1 else "programs are"
            self.message_user(request, f"{done} {word} {state.label.lower()}.", messages.SUCCESS)


class TokenAdmin(Looked):
    """Tokens by whose they are; never the token, nor what it is looked up by."""

    list_select_related = ("application", "user")
    search_fields = ("user__username", "application__name", "application__client_id")
    ordering = ("-created", "-pk")
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may take tokens back, though they may not delete rows."""
        return admin.ModelAdmin.has_delete_permission(self, request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class AccessTokenAdmin(TokenAdmin):
    list_display = ("id", "user", "application", "scope", "expires", "created", "updated")
    fields = ("user", "application", "scope", "resource", "expires", "created", "updated")
    readonly_fields = fields

    @admin.action(description="Revoke the chosen tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[AccessToken]) -> None:
        """End them, and what they could be refreshed by."""
        for token in chosen:
            refreshing = RefreshToken.objects.filter(access_token=token).first()
            revoke_access_token(token)
            if refreshing is not None:
                RefreshToken.revoke_family(refreshing.token_family)
        self.message_user(request, "The tokens are revoked.", messages.SUCCESS)


class RefreshTokenAdmin(TokenAdmin):
    list_display = ("id", "user", "application", "created", "revoked")
    fields = ("user", "application", "resource", "created", "updated", "revoked")
    readonly_fields = fields

    @admin.action(description="Revoke the chosen tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[RefreshToken]) -> None:
        """End them, what they were refreshed to, and the access tokens that go with them."""
        for token in chosen:
            token.revoke()  # type: ignore[no-untyped-call]
            RefreshToken.revoke_family(token.token_family)
        self.message_user(request, "The tokens are revoked.", messages.SUCCESS)


class UnseenAdmin(Looked):
    """What lives for a minute, or is not used: in no list."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
