"""A tool whose every call leaves a line in a file, where it can be counted."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from config.lib.types import JsonObject
from registry.context import CallContext
from registry.executors.base import Output
from registry.specs import ToolSpec
from tests.durability import FILE


class AppendingExecutor:
    """Writes its line, and takes a moment before and after, in which its worker may die."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        time.sleep(random.uniform(0, 0.05))
        line = f"{context.run_id} {spec.wire_name} {context.run_step_id}\n"
        with Path(os.environ[FILE]).open("ab", buffering=0) as file:  # one write: whole lines
            file.write(line.encode())
        time.sleep(random.uniform(0, 0.1))
        return Output(value={"done": spec.wire_name})
