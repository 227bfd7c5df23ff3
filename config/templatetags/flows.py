"""The picture of a sequence on any page: `{% load flows %}{% flow_of tool.definition %}`."""

from typing import Any

from django import template

from config.lib.types import JsonValue
from registry.history import names_of_tools
from sequences.picture import flow_picture

register = template.Library()


@register.inclusion_tag("sequences/_flow.html", takes_context=True)
def flow_of(context: template.Context, definition: JsonValue) -> dict[str, Any]:
    """Draw a saved definition, with the names of those tools that the reader may see."""
    names = names_of_tools(context["request"].user, [{"definition": definition}])
    return {"picture": flow_picture(definition, names, link="")}
