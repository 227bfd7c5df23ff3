"""Who sees whose calls of a tool."""

from uuid import UUID

from django.contrib.auth.models import User

from config.lib.errors import NotFound
from registry.models import Tool
from registry.selectors import tools_visible_to


def sees_all_calls(user: User, tool: Tool) -> bool:
    """Tell whether a person sees the calls of everybody: makers and auditors do."""
    package = tool.package
    makers = {tool.owner_id, package.added_by_id if package else None}
    return user.pk in makers or user.has_perm("registry.view_invocation")


def usage_visible_tool(user: User, tool_id: UUID) -> Tool:
    """Return a tool that a person may see, or any living one to an auditor; raise NotFound."""
    tools = tools_visible_to(user)
    if user.has_perm("registry.view_invocation"):
        tools = Tool.objects.filter(deleted_at=None).select_related("package", "owner", "team")
    tool = tools.filter(pk=tool_id).first()
    if tool is None:
        raise NotFound("There is no such tool, or you may not see it.", "Look in the catalogue.")
    return tool
