"""Let a client say that it wants a stream."""

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import BaseRenderer, JSONRenderer


class EventStreamRenderer(BaseRenderer):
    """Stands for `text/event-stream` when the answer's form is agreed; the view streams itself."""

    media_type = "text/event-stream"
    format = "events"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Render an answer that is no stream, an error say, as JSON."""
        return JSONRenderer().render(data, "application/json", renderer_context)
