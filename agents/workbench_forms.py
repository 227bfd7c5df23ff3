"""What is asked on the search workbench, and how weights change for everybody."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django import forms
from django.contrib.auth.models import User

from agents.models import Agent
from agents.selectors import agents_visible_to
from agents.workbench import Asked
from config.lib.errors import DomainError
from config.lib.form_errors import show_refusal
from config.lib.jsontext import clean_text
from registry.filters import categories_visible_to
from registry.governance_forms import ReasonForm
from registry.models.tool import ToolKind
from registry.search.facts import Narrowing
from registry.search.in_force import PRODUCTS_OWN, Decided
from registry.search.need import LONGEST, LONGEST_QUERY, MOST_QUERIES
from registry.search.weights import BOUNDS, Weights

PREFIX = "w-"
MOST_EARLIER = 20
MOST_FOUND = 20
FIRST_MOVED = BOUNDS["clause"].group
"""The group of weights that is open from the start: they change most."""


class AgentField(forms.ModelChoiceField[Agent]):
    """One of the agents that a person may talk to, by its slug."""

    def label_from_instance(self, obj: Any) -> str:
        """Return the agent's name."""
        return str(obj.name)


class Control(NamedTuple):
    """One weight of the form with its bounds; `changed` from the one in force."""

    field: forms.BoundField
    least: float
    most: float
    step: float
    in_force: float
    changed: bool


class Group(NamedTuple):
    """Weights that belong together; `is_open` where something of it was changed."""

    name: str
    controls: list[Control]
    is_open: bool


class WeightsForm(forms.Form):
    """All weights; one that is left empty is the one in force."""

    use_required_attribute = False

    def __init__(self, data: Any = None, *, in_force: Decided, **options: Any) -> None:
        if data is not None:  # a link may name a few weights; the others are shown as they are
            names = hidden(in_force.weights.as_dict())
            data = {**names, **{name: data[name] for name in data}}
        super().__init__(data, label_suffix="", **options)
        self.in_force = in_force
        for name, value in in_force.weights.as_dict().items():
            bound = BOUNDS[name]
            self.fields[PREFIX + name] = forms.FloatField(
                label=bound.label,
                help_text=bound.help,
                min_value=bound.least,
                max_value=bound.most,
                required=False,
                initial=_plain(value),
                widget=forms.NumberInput(
                    attrs={
                        "min": _plain(bound.least),
                        "max": _plain(bound.most),
                        "step": "any",
                        "form": "ask",
                    }
                ),
            )

    def clean(self) -> dict[str, Any]:
        """Refuse weights that each can be, but not all of them together."""
        data = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                Weights.of(self.values)
            except ValueError as error:
                self.add_error(None, str(error))
        return data

    @property
    def values(self) -> dict[str, float]:
        """Return every weight by its name; the form must be valid."""
        return {
            name: value if (given := self.cleaned_data.get(PREFIX + name)) is None else given
            for name, value in self.in_force.weights.as_dict().items()
        }

    @property
    def weights(self) -> Weights:
        """Return what the form says; it must be valid."""
        return Weights.of(self.values)

    @property
    def groups(self) -> list[Group]:
        """Return the weights in their groups, in order."""
        groups: dict[str, list[Control]] = {}
        for name, control in self._controls():
            groups.setdefault(BOUNDS[name].group, []).append(control)
        return [
            Group(name, controls, name == FIRST_MOVED or any(each.changed for each in controls))
            for name, controls in groups.items()
        ]

    def _controls(self) -> Iterator[tuple[str, Control]]:
        for name, value in self.in_force.weights.as_dict().items():
            field, bound = self[PREFIX + name], BOUNDS[name]
            yield (
                name,
                Control(
                    field=field,
                    least=_plain(bound.least),
                    most=_plain(bound.most),
                    step=_plain(bound.step),
                    in_force=_plain(value),
                    changed=_differs(field.value(), value),
                ),
            )


class WorkbenchForm(WeightsForm):
    """A message, and the circumstances in which it is tried."""

    message = forms.CharField(
        required=False,
        max_length=LONGEST,
        widget=forms.Textarea(
            attrs={"rows": 2, "placeholder": "Such as: get the text of a website"}
        ),
    )
    earlier = forms.CharField(
        label="Earlier messages",
        required=False,
        max_length=LONGEST,
        help_text="One a line, the oldest first.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    queries = forms.CharField(
        label="Asked for beside it",
        required=False,
        max_length=MOST_QUERIES * LONGEST_QUERY,
        help_text=f"Needs in a model's words, one a line, at most {MOST_QUERIES}.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    kind = forms.ChoiceField(
        label="Only of this kind", required=False, choices=[("", "Any"), *ToolKind.choices]
    )
    category = forms.ChoiceField(label="Only of this category", required=False)
    agent = AgentField(
        label="As this agent",
        queryset=Agent.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label="No agent: all tools you may use",
        help_text="Its linked tools, scopes and denials count.",
    )
    limit = forms.IntegerField(
        label="Tools found",
        required=False,
        min_value=1,
        max_value=MOST_FOUND,
        help_text="Empty: as many as the agent takes, else 5.",
    )

    def __init__(self, data: Any = None, *, user: User, in_force: Decided) -> None:
        super().__init__(data, in_force=in_force)
        agents = self.fields["agent"]
        agents.queryset = agents_visible_to(user).order_by("name", "pk")  # type: ignore[attr-defined]
        categories: Any = self.fields["category"]
        names = categories_visible_to(user)
        categories.choices = [("", "Any"), *((name, name) for name in names)]

    @property
    def asked(self) -> Asked:
        """Return what the form says; it must be valid."""
        data = self.cleaned_data
        return Asked(
            message=clean_text(data["message"]).strip(),
            earlier=_lines(data["earlier"])[-MOST_EARLIER:],
            agent=data["agent"],
            limit=data["limit"],
            queries=_lines(data["queries"])[:MOST_QUERIES],
            narrowing=Narrowing(kind=data["kind"], category=data["category"]),
            weights=self.weights,
        )


class SaveForm(ReasonForm):
    """Why weights change, and from which version on."""

    based_on = forms.IntegerField(min_value=PRODUCTS_OWN, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, based_on: int) -> None:
        super().__init__(data, label_suffix="", initial={"based_on": based_on})
        self.fields["reason"].help_text = "It is kept in the history, for everybody."

    def refuse(self, error: DomainError) -> None:
        """Show what the service refused; sent again, it is meant for what is in force now."""
        show_refusal(self, error)
        if version := error.extra.get("version"):
            self.data = {"reason": self.data.get("reason", ""), "based_on": version}


def _lines(text: str) -> tuple[str, ...]:
    lines = (line.strip() for line in clean_text(text).splitlines())
    return tuple(line for line in lines if line)


def hidden(values: Mapping[str, float]) -> dict[str, Any]:
    """Return weights as names and values of hidden fields."""
    return {PREFIX + name: _plain(value) for name, value in values.items()}


def _plain(value: float) -> float | int:
    """Return a number as a person would write it."""
    return int(value) if value == int(value) else value


def _differs(given: Any, value: float) -> bool:
    try:
        return given not in (None, "") and float(given) != value
    except ValueError:
        return True
