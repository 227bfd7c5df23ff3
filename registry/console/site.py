"""The Django admin as the console of governance."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

from registry.console.overview import SHOWN, overview_for


class ConsoleSite(admin.AdminSite):
    """Opens on what waits for a decision, and only then lists what there is."""

    site_header = "Outfitter governance"
    site_title = "Outfitter governance"
    index_title = "Governance"
    empty_value_display = "–"

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Show the review queue, what is wrong, and what was decided."""
        context = {"overview": overview_for(request.user), "shown": SHOWN}
        return super().index(request, {**(extra_context or {}), **context})
