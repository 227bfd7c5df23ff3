"""What the guest offers to packages, as the module `dynamic_tool`.

A tool is a class that says its own name, description and parameters:

    from dynamic_tool import DynamicTool

    class Greeter(DynamicTool):
        tool_name = "greet"
        tool_description = "Greet somebody."
        parameters_schema = {"type": "object", "properties": {"name": {"type": "string"}}}

        async def _run_async_impl(self, args, tool_context, credential=None):
            return {"greeting": f"Hello, {args['name']}"}

The three may be properties. Optional: `init(component, tool_config)` and `cleanup(component,
tool_config)` around each call, `config_model` (a pydantic class the configuration must fit),
`raw_string_args`, `required_scopes`, and `unavailable_reason` for when `_get_declaration` gives
None.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any, ClassVar

from .adk import FunctionDeclaration
from .values import MAX_ARTIFACT_BYTES, packed

MAX_ARTIFACTS = 20


class Saved(int):
    """The version of a saved artifact; it can be awaited, as in the original, or not."""

    def __await__(self) -> Generator[Any, None, int]:
        yield from ()
        return int(self)


class ToolContext:
    """What a tool may use during one call: `state`, `logger` and `save_artifact`."""

    def __init__(self, tool_name: str = "") -> None:
        self.state: dict[str, Any] = {}
        self.logger = logging.getLogger(tool_name or "tool")
        self.function_call_id = ""
        self.agent_name = ""
        self._artifacts: dict[str, dict[str, Any]] = {}
        self._room = MAX_ARTIFACT_BYTES

    def save_artifact(self, name: str, data: Any, media_type: str = "") -> Saved:
        """Give a file back beside the answer; `data` is text, bytes or a `types.Part`.

        Raises ValueError when there are too many of them or they are too large.
        """
        content, kind = _content(data)
        size = len(content)
        if size > self._room:
            raise ValueError(f"The artifacts of one call may have {MAX_ARTIFACT_BYTES:,} bytes.")
        if len(self._artifacts) == MAX_ARTIFACTS and name not in self._artifacts:
            raise ValueError(f"A call may save {MAX_ARTIFACTS} artifacts.")
        self._room -= size
        self._artifacts[str(name)] = packed(str(name), content, media_type or kind)
        return Saved(0)

    def list_artifacts(self) -> list[str]:
        """Return the names of what this call has saved."""
        return list(self._artifacts)

    def saved_artifacts(self) -> list[dict[str, Any]]:
        """Return `{name, media_type, size, data}` of each, `data` in base64."""
        return list(self._artifacts.values())


def _content(data: Any) -> tuple[bytes, str]:
    if isinstance(data, str):
        return data.encode(), "text/plain; charset=utf-8"
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data), "application/octet-stream"
    blob = getattr(data, "inline_data", None)
    if blob is not None:
        return bytes(blob.data), str(blob.mime_type or "application/octet-stream")
    text = getattr(data, "text", None)
    if isinstance(text, str):
        return _content(text)
    raise TypeError(f"An artifact is text or bytes, and this is a {type(data).__name__}.")


class BaseTool:
    """The base of every tool that declares itself."""

    name: str
    description: str

    def __init__(self, *, name: str = "", description: str = "", **_options: Any) -> None:
        self.name = name
        self.description = description

    def _get_declaration(self) -> Any:
        return None

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Carry out the tool."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does.")


class DynamicTool(BaseTool, ABC):
    """A tool that says its own name, description and parameters."""

    config_model: ClassVar[Any] = None
    raw_string_args: Sequence[str] = ()
    required_scopes: Sequence[str] = ()
    unavailable_reason: str = ""

    def __init__(self, tool_config: Any = None) -> None:
        super().__init__(name="dynamic_tool_placeholder")
        self.tool_config = {} if tool_config is None else tool_config

    @property
    @abstractmethod
    def tool_name(self) -> str:
        """The name that models call the tool by."""

    @property
    @abstractmethod
    def tool_description(self) -> str:
        """What the tool does."""

    @property
    @abstractmethod
    def parameters_schema(self) -> Any:
        """JSON Schema of the parameters, as a dictionary or a `types.Schema`."""

    def _get_declaration(self) -> Any:
        """Return the declaration, or None when the tool is not on offer."""
        self.name = self.tool_name
        return FunctionDeclaration(
            name=self.tool_name,
            description=self.tool_description,
            parameters=self.parameters_schema,
        )

    @abstractmethod
    async def _run_async_impl(
        self, args: dict[str, Any], tool_context: ToolContext, credential: str | None = None
    ) -> Any:
        """Do the work and return the answer."""

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Carry out the tool without a credential."""
        return await self._run_async_impl(args, tool_context, None)
