"""What every request passes through."""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render, resolve_url
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.functional import LazyObject, empty

from config.lib.changes import Actor, changing, nobody
from config.lib.errors import DomainError, SessionEnded
from config.lib.exchanges import Exchange, current_exchange, exchange_of
from config.lib.htmx import wants_fragment

GetResponse = Callable[[HttpRequest], HttpResponse]


class ChangeMiddleware:
    """Say who writes what is written during a request, and under which id the request is known."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        exchange = current_exchange() or exchange_of(request.headers.get("X-Request-ID", ""))
        with changing(
            source=_source_of(request.path_info),
            actor=lambda: _actor_of(request),
            request_id=exchange.request_id,
            method=request.method or "",
            path=request.path_info,
        ):
            response = self.get_response(request)
        _fill_in(exchange, request)
        response["X-Request-ID"] = exchange.request_id
        return response


def _fill_in(exchange: Exchange, request: HttpRequest) -> None:
    """Tell whoever watches the request what only Django knows of it."""
    if request.resolver_match is not None:
        exchange.route = f"/{request.resolver_match.route}"
    user_id, _ = _actor_of(request)
    if user_id is None:
        return
    exchange.user_id = str(user_id)
    bearer = getattr(request, "auth", None)
    exchange.caller = getattr(bearer, "kind", "token") if bearer else "session"


def _source_of(path: str) -> str:
    if path.startswith("/admin/"):
        return "admin"
    return "rest" if path.startswith("/api/") else "browser"


def _actor_of(request: HttpRequest) -> Actor:
    """Return whom a view has taken the request to be from; never look it up in the database.

    The REST API recognises a token's person after the middleware and then sets `request.user`.
    """
    user = getattr(request, "user", None)
    if isinstance(user, LazyObject) and user.__dict__.get("_wrapped") is empty:
        user = getattr(request, "_cached_user", None)
    if user is None or user.pk is None:
        return nobody()
    return user.pk, user.get_username()


class HtmxMiddleware:
    """Keep caches honest about fragments, and carry messages along with them."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if self._leads_to_the_sign_in(request, response):
            # htmx would follow it, and put the sign-in page where a fragment belongs; a stream of
            # events would find a page in its place
            error = SessionEnded()
            response = JsonResponse(error.as_dict(), status=error.status, headers=error.headers)
        patch_vary_headers(response, ("HX-Request",))
        if self._can_carry_messages(request, response) and get_messages(request):
            response.write(
                render_to_string("components/messages.html", {"oob": True}, request=request)
            )
        return response

    @staticmethod
    def _leads_to_the_sign_in(request: HttpRequest, response: HttpResponse) -> bool:
        streams = request.headers.get("Accept", "") == "text/event-stream"
        followed = wants_fragment(request) or streams
        if not followed or response.status_code != HTTPStatus.FOUND:
            return False
        path = response.get("Location", "").partition("?")[0]
        return path == resolve_url(settings.LOGIN_URL) and path != request.path_info

    @staticmethod
    def _can_carry_messages(request: HttpRequest, response: HttpResponse) -> bool:
        return (
            wants_fragment(request)
            and not response.streaming
            and response.get("Content-Type", "").startswith("text/html")
            and "HX-Redirect" not in response
            and "HX-Location" not in response
            and "Location" not in response
        )


class DomainErrorMiddleware:
    """Show an expected error as what it is: a clear message with the right status."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer a DomainError in the form the client asked for."""
        if not isinstance(error, DomainError):
            return None
        if request.accepts("text/html"):
            template = "components/error.html" if wants_fragment(request) else "error.html"
            response = render(request, template, {"error": error}, status=error.status)
            for name, value in error.headers.items():
                response[name] = value
            return response
        return JsonResponse(error.as_dict(), status=error.status, headers=error.headers)
