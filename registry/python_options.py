"""How a Python package is loaded: its settings, checked, and what the sandbox is told of them.

Settings are `{module, class_name, tool_config, raw_string_args, required_scopes, tools, env}`, each
left out when empty. `tools` lists several classes, each with a `module`, `class_name`,
`tool_config`, `raw_string_args` and `required_scopes` of its own on top of the others.
`${NAME}` in `tool_config` is filled in by the guest, from the variables of the call; so a secret
stands in no row.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from config.lib.errors import InvalidInput
from config.lib.secret_names import names_a_secret
from config.lib.types import JsonObject, JsonValue

MOST_VARIABLES = 50
MOST_RAW_ARGUMENTS = 50
MOST_SCOPES = 50
MOST_TOOLS = 50
LARGEST_CONFIG = 100_000
STAND_IN = "0"
"""What a variable is while a package is described: set, and a number where one is asked for, but
nobody's secret."""

Dotted = Annotated[str, StringConstraints(pattern=r"^([A-Za-z_]\w*(\.[A-Za-z_]\w*){0,9})?$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,99}$")]
Word = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_REFERENCE = re.compile(r"\$\{(\w+)((?::-|,)[^}]*)?\}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Env(_Strict):
    name: Variable
    description: Annotated[str, StringConstraints(max_length=500)] = ""
    required: bool = True


class _Loaded(_Strict):
    module: Dotted = ""
    class_name: Dotted = ""
    tool_config: dict[str, Any] = {}
    raw_string_args: list[Word] = Field([], max_length=MOST_RAW_ARGUMENTS)
    required_scopes: list[Word] = Field([], max_length=MOST_SCOPES)


class _Settings(_Loaded):
    tools: list[_Loaded] = Field([], max_length=MOST_TOOLS)
    env: list[_Env] = Field([], max_length=MOST_VARIABLES)


def checked_settings(given: JsonValue) -> JsonObject:
    """Return the settings without what is empty; raises InvalidInput that names the fields."""
    try:
        settings = _Settings.model_validate(given or {})
    except ValidationError as error:
        problems = [
            {"path": ".".join(map(str, item["loc"])), "message": item["msg"]}
            for item in error.errors(include_input=False, include_url=False)
        ]
        told = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems)
        raise InvalidInput(
            f"These settings of a Python package cannot be used: {told}.",
            "Known are module, class_name, tool_config, raw_string_args, required_scopes, tools "
            "and env.",
            problems=problems,
        ) from error
    found = _filled(settings)
    if len(str(_configs(found))) > LARGEST_CONFIG:
        raise InvalidInput(f"tool_config is larger than {LARGEST_CONFIG:,} characters.")
    for name, _ in _references(_configs(found)):
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", name):
            raise InvalidInput(
                f"“${{{name}}}” in tool_config is not the name of a variable.",
                "Write a variable in capitals, such as ${WEATHER_API_KEY}.",
            )
    for name in _secrets_written_out(_configs(found)):
        raise InvalidInput(
            f"“{name}” in tool_config is written out, and everybody who sees the package could "
            "read it.",
            "Write the name of a variable, such as ${API_KEY}; each person sets its value under "
            "Credentials.",
        )
    return found


def _filled(settings: _Loaded) -> JsonObject:
    """Return settings without what is empty, and so each of their tools."""
    found = {name: value for name, value in settings.model_dump().items() if value}
    if isinstance(settings, _Settings) and settings.tools:
        found["tools"] = [_filled(tool) for tool in settings.tools]
    return found


def _configs(settings: JsonObject) -> list[JsonValue]:
    """Return every `tool_config` in the settings."""
    return [part.get("tool_config", {}) for part in (settings, *settings.get("tools", ()))]


def package_env(settings: JsonObject, declared: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the variables of a package, as `Package.env` has them.

    Those that the package declares, then those that its importer named, which win, then those that
    `tool_config` refers to; one that has a default there is not required.
    """
    found: dict[str, JsonObject] = {item["name"]: item for item in declared}
    found |= {item["name"]: item for item in settings.get("env", [])}
    for name, has_default in _references(_configs(settings)):
        known = {"name": name, "description": "", "required": not has_default}
        found.setdefault(name, known)
    return list(found.values())


def guest_options(settings: JsonObject, variables: Sequence[str]) -> JsonObject:
    """Return what the guest is told: the settings, and which variable is the credential."""
    options = {name: value for name, value in settings.items() if name not in ("env", "bindings")}
    return {**options, "credential": variables[0]} if variables else options


def stand_ins(settings: JsonObject, env: Iterable[JsonObject]) -> dict[str, str]:
    """Return values for a description, in which no secret has a part.

    Required variables and those that `tool_config` refers to are taken to be set. So a tool whose
    offer depends on a key is offered; a call without the key is refused and says which is missing.
    """
    referred = {name for name, has_default in _references(_configs(settings)) if not has_default}
    names = [item["name"] for item in env if item.get("required", True)]
    return dict.fromkeys([*names, *sorted(referred)], STAND_IN)


def declared_env(manifest: JsonObject) -> list[JsonObject]:
    """Return the variables that a package's `outfitter.json` declares, without bad ones."""
    found = []
    listed = manifest.get("outfitter", {}).get("env", [])
    for item in listed if isinstance(listed, list) else []:
        try:
            found.append(_Env.model_validate(item).model_dump())
        except ValidationError:
            continue
    return found[:MOST_VARIABLES]


def _secrets_written_out(value: JsonValue) -> Iterator[str]:
    """Yield the names under which a configuration holds a secret itself, not a variable's name."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and item and names_a_secret(name):
                found = list(_REFERENCE.finditer(item))
                if not found or any((match[2] or "").lstrip(":-,") for match in found):
                    yield name
            else:
                yield from _secrets_written_out(item)
    elif isinstance(value, list):
        for item in value:
            yield from _secrets_written_out(item)


def _references(value: JsonValue) -> Iterator[tuple[str, bool]]:
    """Yield each `${NAME}` in a configuration, and whether it has a default."""
    if isinstance(value, str):
        for match in _REFERENCE.finditer(value):
            yield match[1], match[2] is not None
    elif isinstance(value, dict):
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)
