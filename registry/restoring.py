"""Go back to an earlier version of a tool, by publishing it as the next one."""

from django.contrib.auth.models import User

from config.lib.errors import NotFound
from registry.authoring import author_for
from registry.models import Tool, ToolVersion


def version_restore(tool: Tool, number: int, *, user: User) -> Tool:
    """Publish what version `number` was; history is never rewritten.

    Raises NotFound when there is no such version, and whatever its author raises when the old
    definition does not fit any more, because a tool that it calls is gone.
    """
    version = ToolVersion.objects.filter(tool=tool, number=number).first()
    if version is None:
        raise NotFound(
            f"{tool.wire_name} has no version {number}.", "Choose one of the versions listed."
        )
    snapshot = version.snapshot
    return author_for(tool.kind).update(
        user,
        tool,
        {
            "name": snapshot["title"],
            "description": snapshot["description"],
            "definition": snapshot["definition"],
            "inputSchema": snapshot["input_schema"],
        },
    )
