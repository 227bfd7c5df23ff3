"""The Django admin as the console of governance."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

from registry.console.overview import SHOWN, overview_for

FIRST = ("Proposal", "Package", "Tool", "Invocation", "AuditEvent")
"""What governance is about, in the order it is looked at; the rest follows by name."""


class ConsoleSite(admin.AdminSite):
    """Opens on what waits for a decision, and only then lists what there is."""

    site_header = "Outfitter governance"
    site_title = "Outfitter governance"
    index_title = "Governance"
    empty_value_display = "–"

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """List the registry first, and of it first what is decided on."""
        apps: list[Any] = super().get_app_list(request, app_label)
        for app in apps:
            app["models"].sort(key=_place)
        return sorted(apps, key=lambda app: app["app_label"] != "registry")

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Show the review queue, what is wrong, and what was decided."""
        context = {"overview": overview_for(request.user), "shown": SHOWN}
        return super().index(request, {**(extra_context or {}), **context})


def _place(model: dict[str, Any]) -> int:
    name = model["object_name"]
    return FIRST.index(name) if name in FIRST else len(FIRST)
