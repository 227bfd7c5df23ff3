"""The model on this machine: one thread, no network."""

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from registry.search.dense import bert
from registry.search.dense.encoder import EncoderUnavailable, Floats

GRAPH_VERSION = 1
"""Raised with every change of what `graph` writes."""

Run = Callable[[bert.Integers, bert.Integers], Floats]


class LocalEncoder:
    """all-MiniLM-L6-v2, loaded when it is first asked.

    The graph is kept in `folder`, under a name that changes with the model and with how it is
    written, so that it is written once for all processes.
    """

    def __init__(self, folder: Path) -> None:
        self._files = bert.installed()
        self._folder = folder
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Return the name of the model, with what its vectors depend on."""
        return f"{bert.NAME}/{self.runs_on}/{self._files.digest[:8]}"

    @property
    def dimensions(self) -> int:
        """Return how long a vector is."""
        return int(self._files.config["hidden_size"])

    @property
    def runs_on(self) -> str:
        """Return what computes the vectors."""
        there = all(find_spec(name) for name in ("onnx", "onnxruntime"))
        return f"int8-{GRAPH_VERSION}" if there else "numpy"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each text.

        One text at a time: a vector must not depend on what it is computed beside, and one thread
        gains nothing by many.
        """
        try:
            with self._lock:
                tokenizer, run = self._loaded
        except (ImportError, OSError, ValueError) as problem:
            raise EncoderUnavailable(f"The model cannot be loaded: {problem}") from problem
        rows = [run(*tokenizer([text]))[0] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimensions)

    @cached_property
    def _loaded(self) -> tuple[bert.Tokenizer, Run]:
        tokenizer = self._files.tokenizer()
        return tokenizer, self._in_numpy() if self.runs_on == "numpy" else self._in_onnx()

    def _in_numpy(self) -> Run:
        from registry.search.dense.forward import Forward

        return Forward(self._files)

    def _in_onnx(self) -> Run:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3

        def load() -> Any:
            return onnxruntime.InferenceSession(
                str(self._graph()), options, providers=["CPUExecutionProvider"]
            )

        try:
            session = load()
        except Exception:  # its errors have no class in common; a damaged file is written anew
            self._path.unlink(missing_ok=True)
            session = load()

        def run(ids: bert.Integers, mask: bert.Integers) -> Floats:
            vectors: Floats = session.run(None, {"ids": ids, "mask": mask})[0]
            return vectors

        return run

    @property
    def _path(self) -> Path:
        return self._folder / f"{bert.NAME}-{GRAPH_VERSION}-{self._files.digest}.onnx"

    def _graph(self) -> Path:
        path = self._path
        if path.exists():
            return path
        from registry.search.dense.graph import graph_bytes

        self._folder.mkdir(parents=True, exist_ok=True)
        # under its own name first: another process may be at it, or this one may be ended
        handle, draft = tempfile.mkstemp(dir=self._folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(graph_bytes(self._files))
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        return path
