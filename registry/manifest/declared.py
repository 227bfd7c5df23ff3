"""What a manifest comes to: the tools it declares, in JSON Schema."""

from dataclasses import dataclass, field

from config.lib.types import JsonObject
from registry.manifest.findings import Problem
from registry.models.package import Tier


@dataclass(frozen=True, kw_only=True)
class DeclaredCheck:
    """How a package says its tool can be tried: with these arguments, or not at all.

    `cleanup` says that a call makes something that has to be taken back by other calls.
    """

    arguments: JsonObject | None = None
    skip: bool = False
    cleanup: tuple[JsonObject, ...] = ()

    @property
    def is_harmless(self) -> bool:
        """Tell whether a call with the arguments leaves nothing behind, as the package says."""
        return self.arguments is not None and not self.skip and not self.cleanup


@dataclass(frozen=True, kw_only=True)
class DeclaredTool:
    """One tool as its package declares it; the schemas are JSON Schema."""

    export: str
    description: str = ""
    category: str = ""
    input_schema: JsonObject | None = None
    output_schema: JsonObject | None = None
    ai_agent: JsonObject = field(default_factory=dict)
    health_check: DeclaredCheck | None = None
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What could be read, and what is to be said of it.

    `findings` holds everything, `problems` what is wrong as `[{path, message}]`; `generation` is
    current, earlier or legacy, and empty where no manifest is.
    """

    tools: tuple[DeclaredTool, ...] = ()
    category: str = ""
    frameworks: tuple[str, ...] = ()
    env: tuple[JsonObject, ...] = ()
    hosts: tuple[str, ...] = ()
    generation: str = ""
    findings: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[JsonObject, ...]:
        """Return what is wrong or probably not meant so, without mere advice."""
        return tuple(item.as_dict() for item in self.findings if item.severity != "advice")

    @property
    def tier(self) -> Tier:
        """Return `rich` when the package says more of its tools than name and description."""
        return Tier.RICH if self.rich_because else Tier.MINIMAL

    @property
    def rich_because(self) -> tuple[str, ...]:
        """Return what makes it rich, in words; empty when it is minimal."""
        told = {
            "parameters": any(tool.input_schema is not None for tool in self.tools),
            "returns": any(tool.output_schema is not None for tool in self.tools),
            "aiAgent": any(tool.ai_agent for tool in self.tools),
            "env": bool(self.env),
            "frameworks": bool(self.frameworks),
        }
        return tuple(name for name, is_told in told.items() if is_told)
