"""What every endpoint for programs has: pages of others may ask it, odd texts are refused."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from config.lib.jsontext import clean_text

ALLOWED_HEADERS = "Authorization, Content-Type, MCP-Protocol-Version"
SHOWN_HEADERS = "WWW-Authenticate"
A_DAY = "86400"


class ForBrowsers:
    """Lets programs on any page ask: these endpoints read no cookies, so nothing is given away."""

    http_method_names: list[str]

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., HttpResponse]:
        """Return the view, which no cookie opens and so no other page can misuse."""
        view: Callable[..., HttpResponse] = super().as_view(**initkwargs)  # type: ignore[misc]
        return csrf_exempt(view)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer a preflight, refuse what no text can be, and let every origin read the answer."""
        if request.method == "OPTIONS":
            response = HttpResponse(status=204)
        elif problem := unreadable(request):
            response = JsonResponse(
                {"error": "invalid_request", "error_description": problem}, status=400
            )
        else:
            response = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]
        methods = [name.upper() for name in self.http_method_names if hasattr(self, name)]
        response["Access-Control-Allow-Origin"] = "*"
        response["Access-Control-Allow-Methods"] = ", ".join(methods)
        response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response["Access-Control-Expose-Headers"] = SHOWN_HEADERS
        response["Access-Control-Max-Age"] = A_DAY
        return response


def unreadable(request: HttpRequest) -> str:
    """Return what is wrong with the parameters of a request; the database cannot hold all."""
    for fields in (request.GET, request.POST):
        for name, values in fields.lists():
            if any(text != clean_text(text) for text in (name, *values)):
                return "A parameter holds characters that no text may hold."
    return ""
