"""Put the start page together from what the apps know."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse

from agents.selectors import agents_visible_to
from chat.models import Conversation
from chat.selectors import conversations_begun_by
from config.lib.paging import MOST_COUNTED, counted
from registry.importing.selectors import failed_imports
from registry.models import ImportJob
from registry.models.tool import ToolKind
from registry.selectors import tools_unwell, tools_usable_by
from sequences.models import Run
from sequences.run_filters import RunFilters, runs_listed, runs_paused

SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One number of the start page and where it leads."""

    label: str
    icon: str
    value: int
    href: str

    @property
    def told(self) -> str:
        """Return the number, or that there are more than were counted."""
        return f"{MOST_COUNTED:,}+" if self.value > MOST_COUNTED else str(self.value)


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """What a signed-in person sees first."""

    tiles: list[Tile]
    conversations: list[Conversation]
    paused: list[Run]
    runs: list[Run]
    failed_jobs: list[ImportJob]


def dashboard_of(user: User) -> Dashboard:
    """Return a person's own numbers and what happened last."""
    tools, sequences = tools_usable_by(user), reverse("sequences:sequence_list")
    counts: tuple[tuple[str, str, int, str], ...] = (
        ("Tools", "tool", counted(tools), reverse("registry:tool_list")),
        ("Agents", "agent", counted(agents_visible_to(user)), reverse("agents:agent_list")),
        ("Sequences", "sequence", counted(tools.filter(kind=ToolKind.SEQUENCE)), sequences),
        (
            "Conversations",
            "chat",
            counted(conversations_begun_by(user)),
            reverse("chat:conversation_list"),
        ),
    )
    if user.has_perm("registry.change_package"):
        unwell = counted(tools_unwell(user))
        counts += (
            ("Tools not well", "alert", unwell, f"{reverse('registry:tool_list')}?health=unwell"),
        )
    return Dashboard(
        tiles=[
            Tile(label=label, icon=icon, value=value, href=href)
            for label, icon, value, href in counts
        ],
        conversations=list(conversations_begun_by(user)[:SHOWN]),
        paused=list(runs_paused(user)[:SHOWN]),
        runs=list(runs_listed(user, RunFilters())[:SHOWN]),
        failed_jobs=list(failed_imports(user)[:SHOWN]),
    )
