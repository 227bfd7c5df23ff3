"""How tools that people make are made: one author for each kind, named in `TOOL_AUTHORS`.

The apps above know what a kind's definition means; the REST API of the registry reaches them
through this Protocol and so imports none of them.
"""

from functools import cache
from typing import Protocol

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.models import Tool


class ToolAuthor(Protocol):
    """Makes, changes, deletes and starts the tools of one kind."""

    def create(self, user: User, data: JsonObject) -> Tool:
        """Make a tool of `{name, description, visibility, team, definition, inputSchema}`.

        Raises InvalidInput with `extra["problems"]`, one for each field that is wrong.
        """

    def update(self, user: User, tool: Tool, data: JsonObject) -> Tool:
        """Change the named fields of a person's own tool; what is not named stays as it is."""

    def delete(self, user: User, tool: Tool) -> None:
        """Take a person's own tool out of the catalogue."""

    def launch(
        self,
        user: User,
        tool: Tool,
        arguments: JsonValue,
        context: CallContext,
        version: int | None = None,
    ) -> JsonObject:
        """Start the tool in the background; return `{run, status, url, page}`.

        `url` is the run's place in the REST API, `page` the one that a person looks at.

        Raises ToolError when the caller may not use it or the arguments do not fit.
        """


def has_author(kind: str) -> bool:
    """Tell whether people may make tools of this kind."""
    return kind in settings.TOOL_AUTHORS


@cache
def author_for(kind: str) -> ToolAuthor:
    """Return the author of a kind of tool, imported at its first use."""
    if not has_author(kind):
        known = ", ".join(sorted(settings.TOOL_AUTHORS))
        raise InvalidInput(
            f"Tools of type “{kind}” cannot be made here.", f"Types that can: {known}."
        )
    author: ToolAuthor = import_string(settings.TOOL_AUTHORS[kind])()
    return author
