"""The form of an HTTP tool: what a person writes, to a definition and back."""

from collections.abc import Iterable

from django import forms
from django.contrib.auth.models import Group, User
from django.http import QueryDict

from config.lib.types import JsonObject, JsonValue
from registry.api_definition import LARGEST_ANSWER, METHODS, SELDOM, ApiProblem
from registry.api_form_values import auth_of, body_of, initial_of, json_of, pairs_of
from registry.models import Tool
from registry.models.tool import Visibility
from registry.roles import teams_of
from registry.scope_field import ScopesField
from registry.services import LONGEST_REASON

BODIES = (
    ("none", "None"),
    ("json", "JSON"),
    ("form", "Form fields"),
    ("multipart", "Form fields, multipart"),
    ("text", "Text"),
    ("binary", "Bytes, from base64"),
)
SIGN_INS = (
    ("none", "None"),
    ("bearer", "Bearer token"),
    ("basic", "User name and password"),
    ("header", "Key in a header"),
    ("query", "Key in the query"),
    ("cookie", "Key in a cookie"),
    ("oauth_caller", "The caller's own token"),
)
GROUPS = (
    ("What it is", ("name", "description")),
    ("Input", ("input_schema",)),
    ("Request", ("method", "url", "query", "headers", "body_type", "body", "content_type")),
    ("Sign-in", ("auth_type", "auth_env", "auth_username", "auth_name", "auth_prefix")),
    ("Answer", ("response_path",)),
    ("Sharing", ("visibility", "team", "required_scopes")),
    ("Limits", ("success_status", "max_bytes", "timeout_seconds")),
    ("History", ("reason",)),
)
FIELD_OF = {
    "inputSchema": "input_schema",
    "requiredScopes": "required_scopes",
    "definition.body.contentType": "content_type",
    "definition.body.type": "body_type",
    "definition.body": "body",
    "definition.auth.username": "auth_username",
    "definition.auth.name": "auth_name",
    "definition.auth.prefix": "auth_prefix",
    "definition.auth.env": "auth_env",
    "definition.auth": "auth_type",
    "definition.response.path": "response_path",
    "definition.response.successStatus": "success_status",
    "definition.maxBytes": "max_bytes",
    "definition.timeoutSeconds": "timeout_seconds",
    **{f"definition.{name}": name for name in ("method", "url", "query", "headers")},
    **{name: name for name in ("name", "description", "visibility", "team")},
}
"""Beginning of a problem's path → the field beside which it is told; the longest one counts."""

PLAIN = {"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}


class NeededField(forms.CharField):
    """Text that is needed where its field is shown; the service says so, with all else."""

    def validate(self, value: str) -> None:
        """Accept an empty text for now."""


class LinesField(forms.CharField):
    """`name: value`, one a line."""

    widget = forms.Textarea(attrs={"rows": 3, **PLAIN})

    def clean(self, value: str | None) -> dict[str, str]:
        """Return the values by name."""
        return pairs_of(super().clean(value))


class JsonField(forms.CharField):
    """A JSON value as text."""

    widget = forms.Textarea(attrs={"rows": 10, "class": "code-input", **PLAIN})

    def clean(self, value: str | None) -> JsonValue:
        """Return the value."""
        return json_of(super().clean(value))


class ApiToolForm(forms.Form):
    """All that makes up an HTTP tool; the rules live in `registry.api_tools`."""

    use_required_attribute = False

    name = NeededField(label="Name")
    description = NeededField(
        help_text="What it does and when to use it: a model chooses its tools by this.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    input_schema = JsonField(
        label="JSON Schema",
        help_text="The arguments. Describe each, for the model to fill it well.",
    )
    method = forms.ChoiceField(choices=[(name, name) for name in METHODS])
    url = NeededField(
        label="URL",
        help_text="{{ args.name }} stands for an argument. The host is fixed.",
        widget=forms.TextInput(
            attrs={"placeholder": "https://api.example.com/v1/cities/{{ args.city }}", **PLAIN}
        ),
    )
    query = LinesField(
        label="Query parameters",
        required=False,
        help_text="One a line, name: value. A line whose argument is not given is left out.",
    )
    headers = LinesField(required=False, help_text="One a line, Name: value. No keys or passwords.")
    body_type = forms.ChoiceField(choices=BODIES, label="Body")
    body = NeededField(
        label="Content of the body",
        help_text='JSON such as {"days": "{{ args.days }}"}, or lines of name: value, or text.',
        widget=forms.Textarea(attrs={"rows": 5, "class": "code-input", **PLAIN}),
    )
    content_type = forms.CharField(
        required=False,
        label="Content type",
        widget=forms.TextInput(attrs={"placeholder": "text/plain; charset=utf-8", **PLAIN}),
    )
    auth_type = forms.ChoiceField(choices=SIGN_INS, label="How it signs in")
    auth_env = NeededField(
        label="Variable with the key",
        help_text="Whoever calls the tool sets its value under Credentials.",
        widget=forms.TextInput(attrs={"placeholder": "ACME_API_KEY", **PLAIN}),
    )
    auth_username = NeededField(
        label="User name",
        help_text="As it is, or $NAME for a variable that has it.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    auth_name = NeededField(
        label="Name of the header or parameter",
        widget=forms.TextInput(attrs={"placeholder": "X-Api-Key", **PLAIN}),
    )
    auth_prefix = forms.CharField(
        required=False,
        strip=False,
        label="Text before the key",
        widget=forms.TextInput(attrs=PLAIN),
    )
    response_path = forms.CharField(
        required=False,
        label="Response path",
        help_text="JMESPath over a JSON answer, such as items[].name. Empty: all of it.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    success_status = forms.CharField(
        required=False,
        label="Statuses that are a success",
        help_text="Such as 200 404. Empty: every 2xx.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    max_bytes = forms.IntegerField(
        label="Largest answer, in bytes", min_value=1, max_value=LARGEST_ANSWER
    )
    timeout_seconds = forms.IntegerField(label="Time limit, in seconds", min_value=1, max_value=300)
    visibility = forms.ChoiceField(
        choices=Visibility.choices,
        label="Who may use it",
        help_text="For everyone, a reviewer approves it first.",
        widget=forms.RadioSelect,
    )
    team = forms.ModelChoiceField(
        queryset=Group.objects.none(), required=False, empty_label="No team"
    )

    required_scopes = ScopesField(
        label="Scopes it requires",
        help_text="Such as mail:send, separated by spaces. Only agents and tokens that are granted "
        "all of them may call it.",
    )
    reason = forms.CharField(
        required=False,
        max_length=LONGEST_REASON,
        label="Why you change it",
        help_text="Kept in the history beside the new version.",
    )

    def __init__(self, data: QueryDict | None, *, user: User, tool: Tool | None) -> None:
        super().__init__(data, initial=initial_of(tool), label_suffix="")
        self._before = (tool.definition if tool else None) or {}
        known = tool.required_scopes if tool else ()
        self.fields["required_scopes"].known = known  # type: ignore[attr-defined]
        if tool is None:
            del self.fields["reason"]
        teams = teams_of(user)
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]
        if not teams.exists():
            del self.fields["team"]
            self.fields["visibility"].choices = [  # type: ignore[attr-defined]
                choice for choice in Visibility.choices if choice[0] != Visibility.TEAM
            ]

    def clean_success_status(self) -> list[int]:
        """Return the statuses."""
        parts = self.cleaned_data["success_status"].replace(",", " ").split()
        if not all(part.isascii() and part.isdigit() and len(part) == len("200") for part in parts):
            raise forms.ValidationError("Write statuses such as 200 404.")
        return [int(part) for part in parts]

    def clean(self) -> None:
        """Read the body as its type says."""
        kind, text = self.cleaned_data.get("body_type"), self.cleaned_data.get("body", "")
        try:
            self.cleaned_data["body_value"] = (
                json_of(text)
                if kind == "json"
                else pairs_of(text)
                if kind in ("form", "multipart")
                else text
            )
        except forms.ValidationError as error:
            self.add_error("body", error)

    def groups(self) -> Iterable[tuple[str, list[forms.BoundField]]]:
        """Return the fields in their groups."""
        return [
            (title, [self[name] for name in names if name in self.fields])
            for title, names in GROUPS
            if any(name in self.fields for name in names)
        ]

    def definition(self) -> JsonObject:
        """Return the definition that a valid form describes; parts it does not show stay."""
        data = self.cleaned_data
        kept = {name: self._before[name] for name in SELDOM if name in self._before}
        return {
            **kept,
            "method": data["method"],
            "url": data["url"],
            "query": data["query"],
            "headers": data["headers"],
            "body": body_of(data, self._before.get("body") or {}),
            "auth": auth_of(data),
            "response": {"path": data["response_path"], "successStatus": data["success_status"]},
            "maxBytes": data["max_bytes"],
            "timeoutSeconds": data["timeout_seconds"],
        }

    def tell(self, problems: Iterable[ApiProblem]) -> None:
        """Put each problem beside its field."""
        for problem in problems:
            path = problem.path.removeprefix("$.")
            place = max((p for p in FIELD_OF if path.startswith(p)), key=len, default="")
            field = FIELD_OF.get(place)
            rest = path[len(place) :].strip(".")
            shown = f"{rest}: {problem.message}" if rest and field != "body" else problem.message
            self.add_error(field if field in self.fields else None, shown)
