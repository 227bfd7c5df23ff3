"""What every answer below `/api/` has in common, whichever view gives it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from config.lib import api_conditional
from config.lib.api_errors import error_body
from config.lib.api_limits import COUNTED
from config.lib.api_versions import PREFIX, VERSION, deprecation_of

UNDER = "/api/"
LISTED = ("RateLimit-Policy", "RateLimit")
_WORDS = {
    400: ("bad_request", "The request cannot be read.", "Check its address and its headers."),
    403: ("permission_denied", "The request was refused.", "Send a token, or the CSRF token."),
    404: ("not_found", "There is no such address.", "/api/docs/ lists what there is."),
    405: ("method_not_allowed", "This address does not take this method.", "See `Allow`."),
    500: ("internal_error", "Something went wrong here.", "Try again; tell us the X-Request-ID."),
}


class ApiMiddleware:
    """Speak JSON, tell the version and what is left, answer conditional requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not request.path_info.startswith(UNDER):
            return response
        response = _in_json(request, response)
        if request.path_info.startswith(PREFIX):
            patch_vary_headers(response, ("Authorization", "Cookie"))
            response = api_conditional.not_modified(request, response)
            response["API-Version"] = VERSION
        view = getattr(getattr(request, "resolver_match", None), "func", None)
        deprecation = deprecation_of(getattr(view, "cls", None), request.method or "")
        standing = getattr(request, COUNTED, None)
        for told in (deprecation, standing):
            for name, value in told.headers.items() if told else ():
                _add(response, name, value)
        return response

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Carry out a write with `If-Match` in this place; leave all else to the view."""
        if request.path_info.startswith(PREFIX) and api_conditional.is_conditional_write(
            request, view
        ):
            return api_conditional.write_if_matched(request, view, args, kwargs)
        return None


def _add(response: HttpResponseBase, name: str, value: str) -> None:
    """Add a header; one that a tool's own limit gave is a list, in which both stand."""
    if name in LISTED and name in response.headers:
        value = f"{value}, {response[name]}"
    response[name] = value


def _in_json(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Put the one shape of an error in the place of a page that tells one."""
    status = response.status_code
    if _leads_to_the_slash(request, response):
        # a client would follow with a GET, or without its token, and wonder
        status = HTTPStatus.NOT_FOUND
    elif status < HTTPStatus.BAD_REQUEST or "json" in response.get("Content-Type", ""):
        return response
    code, message, hint = (
        _WORDS.get(status) or _WORDS[500 if status >= HTTPStatus.INTERNAL_SERVER_ERROR else 400]
    )
    if status != response.status_code:
        hint = f"Addresses end with a slash: {request.path_info}/"
    answer = JsonResponse(error_body(code, message, hint), status=status)
    for name in ("Allow", "X-Request-ID", "WWW-Authenticate", "Retry-After"):
        if name in response.headers:
            answer[name] = response.headers[name]
    return answer


def _leads_to_the_slash(request: HttpRequest, response: HttpResponseBase) -> bool:
    moved = response.status_code in (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT)
    path = response.get("Location", "").partition("?")[0]
    return moved and path == f"{request.path_info}/" and request.method not in ("GET", "HEAD")
