"""Fill `${NAME}` in a tool's configuration from the variables of this call."""

import os
import re
from typing import Any

_VARIABLE = re.compile(r"\$\{(\w+)(?:(?::-|,\s*)([^}]*))?\}")


def interpolated(config: Any, missing: set[str]) -> Any:
    """Return the configuration with its variables filled in; `missing` gathers those not set.

    `${NAME}` alone becomes None when it is not set; inside a longer text it becomes empty.
    `${NAME:-word}` and `${NAME, word}` have a default.
    """
    if isinstance(config, dict):
        return {key: interpolated(value, missing) for key, value in config.items()}
    if isinstance(config, list):
        return [interpolated(value, missing) for value in config]
    if not isinstance(config, str):
        return config
    whole = _VARIABLE.fullmatch(config)
    if whole:
        return _value(whole, missing)
    return _VARIABLE.sub(lambda match: _value(match, missing) or "", config)


def _value(match: re.Match[str], missing: set[str]) -> str | None:
    value = os.environ.get(match[1])
    if value is not None:
        return value
    if match[2] is not None:
        return match[2].strip()
    missing.add(match[1])
    return None
