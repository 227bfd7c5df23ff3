"""Where other programs post messages to."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.jsontext import storable
from sequences.triggers.deliveries import LARGEST_BODY, receive, require_size


@csrf_exempt
@require_POST
def hook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Take a signed message and start a run: 202, or 200 when the message came before."""
    try:
        require_size(_announced(request))
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = receive(webhook_id, headers, request.read(LARGEST_BODY + 1))
    except DomainError as error:
        body, status = storable(error.as_dict()), error.status
        return JsonResponse(body, status=status, headers=error.headers)
    return JsonResponse(received.as_json(), status=202 if received.is_new else 200)


def _announced(request: HttpRequest) -> int:
    announced = request.headers.get("Content-Length") or "0"
    return int(announced) if announced.isascii() and announced.isdigit() else 0
