"""The page that shows staff how the sandbox is."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from config.lib.errors import NotAllowed
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.types import JsonObject
from registry.errors import ToolError
from registry.sandbox.client import sandbox


@login_required
@require_GET
@never_cache
def sandbox_status(request: SignedInRequest) -> HttpResponse:
    """Show the service's checks, spares, memory and builds; it is asked anew every five seconds."""
    if not (request.user.is_staff or request.user.has_perm("registry.change_package")):
        raise NotAllowed("Only staff and reviewers see the state of the sandbox.")
    return render_page(
        request,
        "registry/sandbox_status.html",
        _context(),
        fragment="registry/_sandbox_status.html",
    )


def _context() -> JsonObject:
    try:
        status = sandbox().status()
    except ToolError as error:
        return {"error": error}
    memory, spares = status["memory"], status["spares"]
    calls = spares["hits"] + spares["misses"]
    return {
        "status": status,
        "failed": [check for check in status["checks"] if not check["ok"]],
        "waiting": status["waiting"] + memory["waiting"],
        "hit_percent": round(100 * spares["hits"] / calls) if calls else None,
    }
