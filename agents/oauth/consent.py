"""The page on which a person lets a program in, and the ones that say why it cannot be."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.oauth2_backends import _add_iss_to_redirect
from oauth2_provider.settings import oauth2_settings
from oauth2_provider.views.base import BaseAuthorizationView
from oauthlib.oauth2.rfc6749.errors import (
    FatalClientError,
    InvalidRequestFatalError,
    OAuth2Error,
)

from agents.audiences import REST, agent_of, default_audiences
from agents.models import Agent, OAuthClient
from agents.models.oauth_client import LOOPBACK, ClientState
from agents.oauth.browsers import unreadable
from agents.oauth.clients import SOURCE
from agents.oauth.scopes import scopes_shown
from agents.oauth.validator import audiences_named, invalid_target, origin_of
from agents.selectors import agents_visible_to

MOST_SHOWN = 60
"""Characters of a program's name: it may name itself anything."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request for authorization that holds all it must."""

    client: OAuthClient
    scopes: list[str]
    credentials: dict[str, Any]
    resources: list[str]
    agents: list[Agent]


@method_decorator(never_cache, name="dispatch")
class ConsentView(BaseAuthorizationView):  # type: ignore[misc]
    """`/o/authorize`. All that was asked stays in the address, and is checked again when sent."""

    http_method_names = ["get", "post", "head"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Ask the person, or say what is wrong with the request."""
        try:
            return self._page(self._asked())
        except OAuthToolkitError as error:
            return self.error_response(error, None)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Send the program what the person answered: a code, or that they said no."""
        try:
            asked = self._asked()
            allowed = "allow" in request.POST
            granted = [scope for scope in asked.scopes if scope in request.POST.getlist("granted")]
            if allowed and not granted:
                return self._page(asked, problem="Tick at least one, or do not allow it.")
            leads_to, *_ = self.create_authorization_response(
                request=request,
                scopes=" ".join(granted),
                credentials=asked.credentials,
                allow=allowed,
            )
        except OAuthToolkitError as error:
            if error.oauthlib_error.error != "access_denied":
                return self.error_response(error, None)
            leads_to = self._back(error)
        onward: HttpResponse = self.redirect(leads_to, asked.client)
        return onward

    def error_response(
        self, error: OAuthToolkitError, application: OAuthClient | None, **kwargs: Any
    ) -> HttpResponse:
        """Say what is wrong, and never send the browser on by itself.

        A program that anybody could have registered would otherwise make an open redirect of this
        address (RFC 9700, 4.11). Where the program's own address is known, a link leads there.
        """
        problem = error.oauthlib_error
        client = known_client(self.request)
        # a fatal error repeats the address that was sent, which nobody has checked
        fatal = isinstance(problem, FatalClientError) or not problem.redirect_uri
        context = {
            "problem": problem,
            "told": problem_told(problem.error, problem.description or "", client),
            "client": client,
            "back": "" if fatal else self._back(error),
        }
        return render(self.request, "oauth/problem.html", context, status=400)

    def _asked(self) -> Asked:
        """Read the request; raise OAuthToolkitError where it does not hold all it must."""
        if problem := unreadable(self.request):
            raise OAuthToolkitError(error=InvalidRequestFatalError(description=problem))
        try:
            scopes, credentials = self.validate_authorization_request(self.request)
        except ValueError:  # of oauthlib, for an address that cannot be decoded
            raise OAuthToolkitError(
                error=InvalidRequestFatalError(description="The address cannot be read.")
            ) from None
        client: OAuthClient = credentials["request"].client
        asked = credentials.pop("request")
        named = [text for text in self.request.GET.getlist("resource") if text.strip()]
        try:
            resources = audiences_named(asked, named, client)
            agents = self._agents(asked, resources)
        except OAuth2Error as error:
            uri = credentials["redirect_uri"]
            raise OAuthToolkitError(error=error, redirect_uri=uri) from None
        resources = resources or default_audiences(origin_of(asked))
        credentials["resource"] = resources
        return Asked(
            client=client,
            scopes=list(dict.fromkeys(scopes)),
            credentials=credentials,
            resources=resources,
            agents=agents,
        )

    def _agents(self, asked: Any, resources: list[str]) -> list[Agent]:
        """Return the agents that the resources are of; this person must be able to see them."""
        slugs = {slug for slug in map(agent_of, resources) if slug}
        user: User = self.request.user
        found = list(agents_visible_to(user).filter(slug__in=slugs).order_by("name"))
        if len(found) != len(slugs):
            raise invalid_target("There is no such agent, or you may not see it.", asked)
        return found

    def _page(self, asked: Asked, problem: str = "") -> HttpResponse:
        user: User = self.request.user
        redirect = asked.credentials["redirect_uri"]
        ticked = set(self.request.POST.getlist("granted") if problem else asked.scopes)
        context = {
            "client": asked.client,
            "name": shown_name(asked.client),
            "host": host_of(redirect),
            "is_local": urlsplit(redirect).hostname in LOOPBACK,
            "document": host_of(asked.client.client_id) if is_by_document(asked.client) else "",
            "agents": asked.agents,
            "is_rest": any(urlsplit(uri).path == REST for uri in asked.resources),
            "scopes": [(scope, scope.name in ticked) for scope in scopes_shown(user, asked.scopes)],
            "problem": problem,
        }
        page = render(self.request, "oauth/consent.html", context, status=400 if problem else 200)
        # browsers hold the redirect that follows a form to the policy of the form's page
        page._csp_update = {"form-action": [form_target(redirect)]}  # type: ignore[attr-defined]
        return page

    def _back(self, error: OAuthToolkitError) -> str:
        """Return the program's address with the error, and who says so (RFC 9207)."""
        _, told = super(BaseAuthorizationView, self).error_response(error)
        issuer = oauth2_settings.oauth2_authorization_server_issuer(self.request)
        back: str = _add_iss_to_redirect(told["url"], issuer)
        return back


def known_client(request: HttpRequest) -> OAuthClient | None:
    """Return the program that a request names, whatever its state."""
    name = request.GET.get("client_id", "")
    return None if unreadable(request) else OAuthClient.objects.filter(client_id=name).first()


def problem_told(code: str, description: str, client: OAuthClient | None) -> str:
    """Say in plain words what is wrong with a request for authorization."""
    if client is not None and client.state == ClientState.WAITING:
        return "This program has registered here and waits for a governor to allow it."
    if client is not None and client.state == ClientState.REFUSED:
        return "A governor has refused this program."
    if client is None:
        return "No program of this id is known here, or what it says of itself could not be read."
    return PROBLEMS.get(code) or description or code


PROBLEMS = {
    "invalid_scope": "It asks for a scope that does not exist, or that no tool requires.",
    "unauthorized_client": "This program is not one that people let in.",
    "unsupported_response_type": "It asks for another answer than a code.",
}


def shown_name(client: OAuthClient) -> str:
    """Return what a program calls itself, shortened; without a name, its id."""
    name = " ".join((client.name or client.client_id).split())
    return name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}…"


def host_of(address: str) -> str:
    """Return where an address leads: its host or, of an app's own scheme, the scheme."""
    parts = urlsplit(address)
    return parts.netloc or f"{parts.scheme}:"


def is_by_document(client: OAuthClient) -> bool:
    """Say whether the program's id is the address of a document about it."""
    return bool(client.registration_source == SOURCE.CIMD)


def form_target(redirect: str) -> str:
    """Return a redirect address as a source of a Content-Security-Policy."""
    parts = urlsplit(redirect)
    if parts.scheme not in {"http", "https"} or ":" in (parts.hostname or ""):
        return f"{parts.scheme}:"  # an app's own scheme; and a policy cannot name IPv6 addresses
    return f"{parts.scheme}://{parts.netloc}"
