"""Choose tools in a form: look for more of them without losing what is ticked and not saved yet.

With htmx the search is a GET of the same page with what is ticked; without JavaScript it is a
button of the form, which is sent but not carried out.
"""

from uuid import UUID

from agents.forms import ids_of
from config.lib.http import SignedInRequest
from config.lib.jsontext import clean_text

LONGEST_SEARCH = 200


def is_search(request: SignedInRequest) -> bool:
    """Tell whether the form was sent to look for tools, not to save it."""
    return "find" in request.POST


def search_of(request: SignedInRequest) -> tuple[str, list[UUID] | None]:
    """Return what is searched for, and what was ticked then; None where nothing was sent."""
    sent = request.POST if is_search(request) else request.GET
    if "q" not in sent:
        return "", None
    return clean_text(sent["q"]).strip()[:LONGEST_SEARCH], ids_of(sent.getlist("tools"))
