"""Answers the service's three questions about one package."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .channel import (
    IMPORT_FAILED,
    MAX_MESSAGE_CHARACTERS,
    OUT_OF_MEMORY,
    TOOL_FAILED,
    UNKNOWN_EXPORT,
    Channel,
    Refusal,
)
from .discovery import Catalogue, entries_of
from .environment import MISSED, missed_variables, variables_read, watch_environment
from .network import DENIED, watch_network
from .shims import install_shims
from .values import NotJson, jsonable

Json = dict[str, Any]


class Server:
    """Holds the loaded package; `folder` is where it lies."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._folder = folder
        self._catalogue: Catalogue | None = None
        self._methods: dict[str, Callable[[Json], Json]] = {
            "load": self._load,
            "describe": self._describe,
            "call": self._call,
        }

    def serve(self) -> None:
        """Answer until the service closes the line."""
        for request in self._channel.requests():
            self._channel.send({"id": request["id"], **self._answer(request)})

    def _answer(self, request: Json) -> Json:
        DENIED.clear()
        MISSED.clear()
        try:
            answer = {"result": self._methods[request["method"]](request.get("params") or {})}
        except Refusal as refusal:
            answer = {"error": _error(refusal.code, str(refusal))}
        except MemoryError:
            answer = {"error": _error(OUT_OF_MEMORY, "The tool ran out of memory.")}
        except BaseException as error:
            answer = {"error": _error(TOOL_FAILED, error_text(error))}
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        return answer

    def _load(self, params: Json) -> Json:
        # Before the import: real packages read their variables while they are imported.
        os.environ.update(params["env"])
        sys.path += [str(self._folder / name) for name in ("src", "site")]
        watch_network()
        watch_environment()
        install_shims()
        options = params.get("options") or {}
        try:
            self._catalogue = Catalogue(entries_of(self._folder, options))
        except Refusal:
            raise
        except BaseException as error:
            raise Refusal(IMPORT_FAILED, _import_text(error)) from error
        return {}

    def _describe(self, _params: Json) -> Json:
        catalogue = self._loaded()
        return {**catalogue.describe(), "env": variables_read(catalogue.own_files())}

    def _call(self, params: Json) -> Json:
        catalogue = self._loaded()
        tool = catalogue.find(params["export"])
        output, artifacts = tool.call(params["arguments"])
        try:
            answer: Json = {"output": jsonable(output)}
        except NotJson as error:
            raise error.refusal() from None
        if artifacts:
            answer["artifacts"] = artifacts
        if DENIED:
            answer["denied_hosts"] = sorted(DENIED)
        return answer

    def _loaded(self) -> Catalogue:
        if self._catalogue is None:
            raise Refusal(UNKNOWN_EXPORT, "The package has not been loaded.")
        return self._catalogue


def _error(code: int, message: str) -> Json:
    data = {"denied_hosts": sorted(DENIED), "missing_env": missed_variables()}
    return {"code": code, "message": message[:MAX_MESSAGE_CHARACTERS], "data": data}


def error_text(error: BaseException) -> str:
    """Say what an exception says; its type stands in front where the words alone mislead."""
    try:
        said = str(error)
    except BaseException:
        said = "The error cannot be shown."
    name = type(error).__name__
    if isinstance(error, SystemExit):
        return f"The tool asked to end the process ({name}: {said})."
    if not said:
        return name
    return said if type(error) in (Exception, RuntimeError, ValueError) else f"{name}: {said}"


def _import_text(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"It needs the module {error.name}, which is not among its dependencies."
    return error_text(error)
