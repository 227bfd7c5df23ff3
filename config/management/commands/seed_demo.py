"""`manage.py seed_demo`."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand

from agents.models import Agent
from agents.services import agent_create, tool_link
from registry.importing.builtins import builtins_sync
from registry.importing.jobs import import_request, import_run
from registry.models import Package, Tool
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.tool import ToolKind
from registry.services import package_review

AGENT = "Demo"
SLUG = "demo"
INSTRUCTIONS = (
    "Help with texts, sums, dates and data. Use a tool for everything that has an exact answer, "
    "and say in one sentence what you found."
)
LINKED_TOOLS = ("current_time", "calculator")
LINKED_CATEGORY = "text"
PACKAGE, VERSION = "@tpmjs/tools-html-to-markdown", "0.1.0"


class Command(BaseCommand):
    """Bring the built-in tools up to date and make what a first look needs."""

    help = (
        "Bring the built-in tools up to date, make the Demo agent and import one npm package. "
        "Safe to repeat; what is there already is left as it is."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Do the fast things first; the package needs the network and may fail."""
        changed = builtins_sync()
        self.stdout.write(f"Built-in tools: {len(changed)} changed.")
        admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
        if admin is None:
            self.stdout.write("There is no superuser yet, so no Demo agent was made.")
        else:
            self.stdout.write(demo_agent(admin))
        self.stdout.write(demo_package(admin))


def demo_agent(owner: User) -> str:
    """Make the Demo agent unless there is one, and say what was done."""
    if Agent.objects.filter(slug=SLUG).exists():
        return "The Demo agent is there already."
    agent = agent_create(
        owner,
        name=AGENT,
        description="A first agent to try things with.",
        instructions=INSTRUCTIONS,
        code_execution=True,
    )
    builtins = Tool.objects.filter(kind=ToolKind.BUILTIN, deleted_at=None)
    linked = builtins.filter(wire_name__in=LINKED_TOOLS) | builtins.filter(category=LINKED_CATEGORY)
    for tool in linked.order_by("wire_name"):
        tool_link(agent, tool.pk)
    return f"The Demo agent was made, with {linked.count()} tools."


def demo_package(user: User | None) -> str:
    """Import and approve the example package unless it is there, and say what came of it.

    A failure is no error of this command: its job stays on the packages page with the reason.
    """
    if Package.objects.filter(ecosystem=Ecosystem.NPM, name=PACKAGE).exists():
        return f"{PACKAGE} is there already."
    job = import_request(
        ecosystem=Ecosystem.NPM, name=PACKAGE, version=VERSION, user=user, queued=False
    )
    if import_run(job.pk) is None:
        return f"{PACKAGE} is being imported by another process."
    job.refresh_from_db()
    if job.package is None:
        told = "{message} {hint}".format(**job.error or {"message": "", "hint": ""})
        return (
            f"{PACKAGE} could not be imported: {told} "
            "Everything else works; try again on the packages page."
        )
    package_review(job.package, status=ReviewStatus.APPROVED, reason="The demo's example")
    return f"{job.package} was imported and approved."
