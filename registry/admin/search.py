"""Read what governors decided of the ranking; it is changed on the search workbench."""

from typing import Any

from django.contrib import admin

from registry.admin.base import ReadOnly, shown_json
from registry.models import SearchWeights


@admin.register(SearchWeights)
class SearchWeightsAdmin(ReadOnly, admin.ModelAdmin[SearchWeights]):
    list_display = ("version", "reason", "by", "restored_from", "created_at")
    list_select_related = ("by",)
    ordering = ("-version",)
    fields = ("version", "reason", "by", "restored_from", "created_at", "weights")
    readonly_fields = fields

    weights: Any = shown_json("values")
