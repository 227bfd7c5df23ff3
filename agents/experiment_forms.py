"""What people fill in to draw up an experiment."""

from uuid import UUID

from django import forms
from django.http import QueryDict

from agents.experiments import (
    FEWEST_PLANNED,
    LARGEST_SHARE,
    LONGEST_NAME,
    MOST_PLANNED,
    SMALLEST_SHARE,
    ToolsetPlan,
    present_toolset,
)
from agents.forms import ids_of
from agents.models import Agent
from agents.models.agent import DiscoveryMode
from config.lib.types import JsonObject


class ExperimentForm(forms.Form):
    """Toolset A is what the agent carries now; the form asks for B."""

    name = forms.CharField(
        max_length=LONGEST_NAME,
        help_text="What you want to find out, such as “With the web search”.",
    )
    discovery_mode = forms.ChoiceField(
        label="Which tools B may use", choices=DiscoveryMode.choices, widget=forms.RadioSelect
    )
    share_b = forms.IntegerField(
        label="Share of B, in percent",
        initial=50,
        min_value=SMALLEST_SHARE,
        max_value=LARGEST_SHARE,
        help_text="Of the conversations that begin while it runs. Halves tell the most.",
    )
    planned = forms.IntegerField(
        label="Conversations in each arm",
        initial=50,
        min_value=FEWEST_PLANNED,
        max_value=MOST_PLANNED,
        help_text="Nothing is concluded before. Fixed once it runs, because whoever looks until "
        "a difference shows finds one where there is none.",
    )

    def __init__(
        self, data: QueryDict | None = None, *, agent: Agent, unsent: bool = False
    ) -> None:
        """Take what was sent; `unsent` means that it is to be shown again, not judged."""
        shown = data.dict() if data and unsent else {}
        initial = {"discovery_mode": agent.discovery_mode, **shown}
        super().__init__(None if unsent else data, initial=initial)
        self.agent = agent
        self._sent = data

    def chosen(self) -> set[UUID]:
        """Return the ids of the tools ticked for B; those of A in a form not yet sent."""
        if self._sent is None:
            return set(present_toolset(self.agent).tools)
        return set(ids_of(self._sent.getlist("tools")))

    def plan(self) -> JsonObject:
        """Return what `experiment_create` takes. A tool of both arms keeps the version of A."""
        fields = dict(self.cleaned_data)
        present = present_toolset(self.agent)
        tools = {tool: present.tools.get(tool) for tool in self.chosen()}
        b = ToolsetPlan(tools=tools, discovery_mode=fields.pop("discovery_mode"))
        return {**fields, "a": present, "b": b}
