"""What a person fills in on the registry's pages."""

import json
from typing import Any

from django import forms

from config.lib.errors import DomainError
from config.lib.host_patterns import LONGEST_PATTERN
from config.lib.types import JsonObject
from registry.models import Package
from registry.models.package import Ecosystem

SOURCES = (
    (Ecosystem.NPM, "npm", "JavaScript tools"),
    (Ecosystem.PYPI, "PyPI", "Python tools"),
    (Ecosystem.MCP, "MCP server", "Remote, or run here"),
    (Ecosystem.OPENAPI, "OpenAPI", "An HTTP API’s document"),
    (Ecosystem.UPLOAD, "Upload", "A Python file of yours"),
    (Ecosystem.LOCAL, "Local module", "The operator's folder"),
)
"""Where tools can be imported from: ecosystem, name, what is found there."""

OWN_FORMS = (Ecosystem.MCP, Ecosystem.OPENAPI, Ecosystem.UPLOAD)
"""Those that are asked for by a form of their own."""

PLAIN_TEXT = {"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
OPTIONAL = "optional"


class PythonSettingsForm(forms.Form):
    """How a Python package is loaded; all of it may be left empty."""

    module = forms.CharField(
        label="Module",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "its main module", **PLAIN_TEXT}),
        help_text="The module that has the tools, where it is not the main one.",
    )
    class_name = forms.CharField(
        label="Class, function or list",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "all that are found", **PLAIN_TEXT}),
        help_text="To take only this one of the module.",
    )
    tool_config = forms.CharField(
        label="Configuration",
        required=False,
        widget=forms.Textarea(
            attrs={
                "rows": 4,
                "placeholder": '{"api_key": "${WEATHER_API_KEY}", "timeout": 30}',
                "data-json": "",
                **PLAIN_TEXT,
            }
        ),
        help_text="JSON for the tools' tool_config. ${NAME} is filled in from credentials at each "
        "call: write no key in here.",
    )
    env = forms.CharField(
        label="Variables",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "WEATHER_API_KEY", **PLAIN_TEXT}),
        help_text="Credentials the tools may read, one name a line; the word optional after a name "
        "says that it works without. Those in the configuration are known already.",
    )
    raw_string_args = forms.CharField(
        label="Raw arguments",
        max_length=2_000,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "template, content", **PLAIN_TEXT}),
        help_text="Arguments in whose text nothing is resolved before the call.",
    )

    required_scopes = forms.CharField(
        label="Required scopes",
        max_length=2_000,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "reports:write", **PLAIN_TEXT}),
        help_text="Scopes that an agent or a token must hold to call the tools, beside those that "
        "they require themselves.",
    )
    tools = forms.CharField(
        label="Several tools",
        required=False,
        widget=forms.Textarea(
            attrs={
                "rows": 4,
                "placeholder": '[{"class_name": "QueryTool", "tool_config": {"max_rows": 100}},\n'
                ' {"class_name": "SchemaTool"}]',
                "data-json": "",
                **PLAIN_TEXT,
            }
        ),
        help_text="JSON for several classes, each with a module, class_name, tool_config, "
        "raw_string_args and required_scopes of its own. Empty: all that is found.",
    )

    def clean_tools(self) -> list[JsonObject]:
        """Read the list, whose items the service checks."""
        text = self.cleaned_data["tools"].strip()
        try:
            tools = json.loads(text) if text else []
        except RecursionError as error:
            raise forms.ValidationError("This is nested too deeply.") from error
        except ValueError as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from error
        if not isinstance(tools, list):
            raise forms.ValidationError('It must be a JSON list, such as [{"class_name": "A"}].')
        return tools

    def clean_required_scopes(self) -> list[str]:
        """Read names between commas."""
        text: str = self.cleaned_data["required_scopes"]
        return text.replace(",", " ").split()

    def clean_tool_config(self) -> JsonObject:
        """Read the configuration, which must be a JSON object."""
        text = self.cleaned_data["tool_config"].strip()
        if not text:
            return {}
        try:
            config = json.loads(text)
        except RecursionError as error:
            raise forms.ValidationError("This is nested too deeply.") from error
        except ValueError as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from error
        if not isinstance(config, dict):
            raise forms.ValidationError('It must be a JSON object, such as {"timeout": 30}.')
        return config

    def clean_env(self) -> list[JsonObject]:
        """Read one variable a line."""
        lines = [line.split() for line in self.cleaned_data["env"].splitlines() if line.strip()]
        return [
            {"name": words[0], "required": OPTIONAL not in [w.lower() for w in words[1:]]}
            for words in lines
        ]

    def clean_raw_string_args(self) -> list[str]:
        """Read names between commas."""
        text: str = self.cleaned_data["raw_string_args"]
        return text.replace(",", " ").split()

    @property
    def settings(self) -> JsonObject:
        """Return what was filled in, without what was left empty."""
        names = PythonSettingsForm.base_fields
        return {name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)}

    def refuse(self, error: DomainError) -> None:
        """Show what a service refused beside the fields that it names."""
        problems = [
            problem
            for problem in error.extra.get("problems", [])
            if problem["path"].split(".")[0] in self.fields
        ]
        for problem in problems:
            self.add_error(problem["path"].split(".")[0], problem["message"])
        if not problems:
            self.add_error(None, f"{error.message} {error.hint}".strip())

    @staticmethod
    def initial_of(package: Package) -> dict[str, Any]:
        """Return the settings of a package as the fields show them."""
        settings = package.settings
        config, tools = settings.get("tool_config"), settings.get("tools")
        lines = [
            item["name"] if item.get("required", True) else f"{item['name']} {OPTIONAL}"
            for item in settings.get("env", [])
        ]
        return {
            "module": settings.get("module", ""),
            "class_name": settings.get("class_name", ""),
            "tool_config": json.dumps(config, indent=2, ensure_ascii=False) if config else "",
            "env": "\n".join(lines),
            "raw_string_args": ", ".join(settings.get("raw_string_args", [])),
            "required_scopes": ", ".join(settings.get("required_scopes", [])),
            "tools": json.dumps(tools, indent=2, ensure_ascii=False) if tools else "",
        }


class PackageImportForm(PythonSettingsForm):
    """Which package to import, and how a Python one is loaded."""

    ecosystem = forms.ChoiceField(label="From", initial=Ecosystem.NPM, required=False)
    name = forms.CharField(
        label="Package",
        max_length=214,
        widget=forms.TextInput(attrs={"placeholder": "name or @scope/name", **PLAIN_TEXT}),
    )
    version = forms.CharField(
        label="Version",
        max_length=64,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "newest", "autocomplete": "off"}),
        help_text="A version, a range or a tag.",
    )

    def __init__(self, *args: Any, governs: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        sources = [source for source in SOURCES if governs or source[0] != Ecosystem.LOCAL]
        self._sources = sources
        ecosystem = self.fields["ecosystem"]
        assert isinstance(ecosystem, forms.ChoiceField)  # noqa: S101 - declared above
        ecosystem.choices = [(it, label) for it, label, _ in sources if it not in OWN_FORMS]

    def clean_ecosystem(self) -> str:
        """Take npm for a request that does not say."""
        return self.cleaned_data["ecosystem"] or Ecosystem.NPM

    @property
    def sources(self) -> list[JsonObject]:
        """The sources to choose from, `[{value, label, help}]`."""
        return [
            {"value": it.value, "label": label, "help": found} for it, label, found in self._sources
        ]

    @property
    def package_fields(self) -> list[forms.BoundField]:
        """The fields that say which package."""
        return [self[name] for name in ("name", "version")]

    @property
    def python_fields(self) -> list[forms.BoundField]:
        """The fields that say how a Python package is loaded."""
        return [self[name] for name in PythonSettingsForm.base_fields]

    @property
    def python_filled(self) -> bool:
        """Tell whether anything about Python was filled in, or is wrong."""
        return any(field.errors or field.value() for field in self.python_fields)

    @property
    def request(self) -> dict[str, Any]:
        """Return the arguments of `import_request`, but for the user."""
        asked = {name: self.cleaned_data[name] for name in ("ecosystem", "name", "version")}
        is_npm = asked["ecosystem"] == Ecosystem.NPM
        return {**asked, "settings": None if is_npm else self.settings or None}


class ManifestForm(forms.Form):
    """A package.json to be judged."""

    manifest = forms.CharField(
        label="package.json",
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 18, "class": "code-input", "spellcheck": "false", "autocomplete": "off"}
        ),
        help_text="The whole file, or what stands under “tpmjs” in it. Nothing of it is kept.",
        error_messages={"required": "Paste a package.json."},
    )


class PackageHostsForm(forms.Form):
    """Which hosts the tools of a package may reach; `hosts` is cleaned into a list."""

    hosts = forms.CharField(
        label="Allowed hosts",
        required=False,
        max_length=50 * LONGEST_PATTERN,
        widget=forms.Textarea(
            attrs={"rows": 5, "class": "code-input", "spellcheck": "false", "autocomplete": "off"}
        ),
        help_text="One in a line: host, host:port or *.host. Without a port: 80 and 443. "
        "Empty: no network.",
    )
    reason = forms.CharField(
        label="Why",
        required=False,
        max_length=300,
        help_text="Kept in the history of the package.",
    )

    def clean_hosts(self) -> list[str]:
        """Return one text a host."""
        return [line.strip() for line in self.cleaned_data["hosts"].splitlines() if line.strip()]
