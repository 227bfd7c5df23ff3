"""Names for the JSON shapes that travel through the whole product."""

from collections.abc import Mapping
from typing import Any

JsonValue = Any
"""Anything `json.dumps` accepts: None, bool, int, float, str, list or dict of the same."""

JsonObject = dict[str, Any]
"""A JSON object."""

JsonSchema = Mapping[str, Any]
"""A JSON Schema document (draft 2020-12 unless it says otherwise with `$schema`)."""
