"""Find the tools of a package: where to look, what counts, and under which name."""

import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from .calling import GuestTool, Json, NotOffered, run
from .channel import IMPORT_FAILED, UNKNOWN_EXPORT, Refusal
from .dynamic import DynamicAdapter, is_dynamic, refuse
from .functions import FunctionAdapter
from .langchain import LangChainAdapter, is_langchain, is_langchain_class

LISTS = ("tools", "TOOLS")
FACTORY = "get_tools"

Candidate = tuple[str, Any, Callable[[str, Any, Json], GuestTool]]
"""A name, what it names, and what makes a tool of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A module, and the name in it that is the tool or gives the tools; empty for all of it.

    `options` are those of the tools that come from it.
    """

    module: str
    attribute: str = ""
    options: Json = field(default_factory=dict)


def entries_of(folder: Path, options: Json) -> list[Entry]:
    """Return where to look: the settings' module, else what the package's `entry.json` says.

    Each item of the option `tools` is looked for by itself, with options of its own.
    """
    if listed := options.get("tools"):
        return [entry for own in listed for entry in entries_of(folder, _joined(options, own))]
    attribute = str(options.get("class_name") or "")
    if options.get("module"):
        return [Entry(str(options["module"]), attribute, options)]
    written = json.loads((folder / "entry.json").read_text(encoding="utf-8"))
    return [
        Entry(item["module"], attribute or item.get("attribute", ""), options)
        for item in written["entries"]
    ]


def _joined(shared: Json, own: Json) -> Json:
    """Return the options of one item: its configuration and lists come on top of the shared."""
    joined = {**shared, **own, "tools": ()}
    joined["tool_config"] = {**(shared.get("tool_config") or {}), **(own.get("tool_config") or {})}
    for name in ("raw_string_args", "required_scopes"):
        joined[name] = [*(shared.get(name) or ()), *(own.get(name) or ())]
    return joined


class Catalogue:
    """The loaded modules of a package and the tools in them."""

    def __init__(self, entries: list[Entry]) -> None:
        self._problems: list[Json] = []
        if not entries:
            raise Refusal(IMPORT_FAILED, "The package has no module. Name one in its settings.")
        self._sources = [(entry, importlib.import_module(entry.module)) for entry in entries]

    def describe(self) -> Json:
        """Return `{tools, problems, factories, unavailable}`."""
        self._problems, tools, unavailable = [], [], []
        names: set[str] = set()
        for (name, value, adapter), options in self._candidates():
            try:
                tool = adapter(name, value, options)
                described = _with_scopes(tool.describe(), options)
            except NotOffered as error:
                unavailable.append({"export": error.name, "reason": str(error)})
                continue
            except Exception as error:
                self._problem(name, str(error) or type(error).__name__)
                continue
            if tool.export in names:
                self._problem(name, f"Another tool is called “{tool.export}” already.")
                continue
            names.add(tool.export)
            tools.append({"export": tool.export, "aliases": tool.aliases, **described})
        return {
            "tools": tools,
            "problems": self._problems,
            "factories": [],
            "unavailable": unavailable,
        }

    def own_files(self) -> Iterator[Path]:
        """Yield the source files of the package itself, not those of what it needs."""
        for _, module in self._sources:
            top = sys.modules.get(module.__name__.partition(".")[0], module)
            if getattr(top, "__file__", None) is None:  # a namespace that others share
                top = module
            for folder in getattr(top, "__path__", ()):
                yield from sorted(Path(folder).rglob("*.py"))
            if not hasattr(top, "__path__") and top.__file__:
                yield Path(top.__file__)

    def find(self, export: str) -> GuestTool:
        """Return the tool of that name or alias; raises `Refusal`."""
        seen: list[str] = []
        for (name, value, adapter), options in self._candidates():
            try:
                tool = adapter(name, value, options)
            except NotOffered as error:
                if export in (name, error.name):
                    raise refuse(error, export) from error
                continue
            except Exception:
                if name == export:
                    raise
                continue
            if export in (tool.export, *tool.aliases):
                return tool
            seen.append(tool.export)
        names = ", ".join(seen[:20]) or "nothing"
        raise Refusal(UNKNOWN_EXPORT, f"The package has no tool “{export}”. It offers {names}.")

    def _candidates(self) -> Iterator[tuple[Candidate, Json]]:
        for entry, module in self._sources:
            named = self._named(module, entry.attribute) if entry.attribute else None
            for candidate in self._of_module(module) if named is None else named:
                yield candidate, entry.options

    def _named(self, module: ModuleType, attribute: str) -> Iterator[Candidate]:
        value: Any = module
        for part in attribute.split("."):
            if not hasattr(value, part):
                raise Refusal(IMPORT_FAILED, f"{module.__name__} has no “{attribute}”.")
            value = getattr(value, part)
        if isinstance(value, list | tuple | dict):
            yield from self._of_list(attribute, value)
        elif attribute.rpartition(".")[2] == FACTORY:
            yield from self._of_list(attribute, run(value))
        elif found := _candidate(attribute, value):
            yield found
        else:
            kind = type(value).__name__
            raise Refusal(
                IMPORT_FAILED, f"“{attribute}” of {module.__name__} is a {kind}, no tool."
            )

    def _of_module(self, module: ModuleType) -> Iterator[Candidate]:
        """Yield the classes and objects; plain functions only where nothing else is a tool."""
        found = list(self._declared(module))
        if found:
            yield from found
            return
        for name, value in _public(module):
            if callable(value) and inspect.isfunction(inspect.unwrap(value)):
                yield name, value, FunctionAdapter

    def _declared(self, module: ModuleType) -> Iterator[Candidate]:
        seen: set[int] = set()
        for name, value in vars(module).copy().items():
            if name.startswith("_"):
                continue
            listed: Iterator[Candidate] = iter(())
            if name in LISTS and isinstance(value, list | tuple | dict):
                listed = self._of_list(name, value)
            elif name == FACTORY and inspect.isfunction(value):
                listed = self._of_factory(name, value)
            elif _is_own_class(value, module) or not isinstance(value, type):
                candidate = _candidate(name, value)
                is_plain = candidate is None or candidate[2] is FunctionAdapter
                listed = iter(() if is_plain or candidate is None else (candidate,))
            for found in listed:
                if id(found[1]) not in seen:
                    seen.add(id(found[1]))
                    yield found

    def _of_factory(self, name: str, factory: Any) -> Iterator[Candidate]:
        try:
            made = run(factory)
        except Exception as error:
            self._problem(f"{name}()", str(error) or type(error).__name__)
            return
        if isinstance(made, list | tuple | dict):
            yield from self._of_list(name, made)

    def _of_list(self, name: str, values: Any) -> Iterator[Candidate]:
        items = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in items:
            label = getattr(value, "__name__", None) or getattr(value, "name", None)
            found = _candidate(str(label or f"{name}.{key}"), value)
            if found:
                yield found
            else:
                self._problem(f"{name}.{key}", f"It is a {type(value).__name__}, no tool.")

    def _problem(self, export: str, message: str) -> None:
        self._problems.append({"export": export, "message": message})


def _with_scopes(described: Json, options: Json) -> Json:
    """Add the scopes that the settings require to those that the tool itself does."""
    required = [*described.get("requiredScopes", ()), *(options.get("required_scopes") or ())]
    return {**described, "requiredScopes": list(dict.fromkeys(required))}


def _candidate(name: str, value: Any) -> Candidate | None:
    if is_dynamic(value):
        return name, value, DynamicAdapter
    if is_langchain(value) or is_langchain_class(value):
        return name, value, LangChainAdapter
    if inspect.isfunction(value):
        return name, value, FunctionAdapter
    return None


def _is_own_class(value: Any, module: ModuleType) -> bool:
    """Tell whether a class is the module's own and can be made."""
    return isinstance(value, type) and not inspect.isabstract(value) and _is_own(value, module)


def _is_own(value: Any, module: ModuleType) -> bool:
    """Tell whether a thing is defined in a module, or in the package that the module is."""
    home = str(getattr(value, "__module__", ""))
    inside = hasattr(module, "__path__") and home.startswith(f"{module.__name__}.")
    return home == module.__name__ or inside


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what `__all__` names, else what is defined here under a name without underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        yield from ((name, getattr(module, name)) for name in listed if hasattr(module, name))
        return
    for name, value in vars(module).copy().items():
        if not name.startswith("_") and _is_own(value, module):
            yield name, value
