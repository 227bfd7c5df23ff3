"""What running a sequence may do and what it needs, derived from all that its steps call."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from config.lib.types import JsonObject
from registry.annotations import Annotations
from registry.effects import annotations_of_calls, called_within


@dataclass(frozen=True, kw_only=True)
class Safety:
    """What holds of a whole sequence.

    It is read-only only if all its steps are, destructive or open to the world if one is.
    `scopes` and `needs` (variables) name the tools that ask for each; a scope that the sequence
    itself requires may name none.
    """

    annotations: Annotations
    tools: tuple[str, ...]
    scopes: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, tuple[str, ...]]


def safety_of(definition: JsonObject | None, own_scopes: Collection[str] = ()) -> Safety:
    """Return what is known of a definition, saved or not; a step without a tool adds nothing.

    One query for each sequence in it, and one for the hosts that packages may reach.
    """
    called = called_within(definition)
    scopes: dict[str, list[str]] = {scope: [] for scope in own_scopes}
    needs: dict[str, list[str]] = {}
    for tool, spec in called:
        for scope in tool.required_scopes:
            _add(scopes, scope, spec.wire_name)
        for variable in spec.env:
            if variable.required:
                _add(needs, variable.name, spec.wire_name)
    return Safety(
        annotations=annotations_of_calls(spec for _, spec in called),
        tools=tuple(dict.fromkeys(spec.wire_name for _, spec in called)),
        scopes={scope: tuple(names) for scope, names in sorted(scopes.items())},
        needs={name: tuple(names) for name, names in sorted(needs.items())},
    )


def _add(named: dict[str, list[str]], key: str, tool: str) -> None:
    names = named.setdefault(key, [])
    if tool not in names:
        names.append(tool)
