"""Put JSON that is ready into an answer of the SDK, on its way out.

The SDK checks a result, and writes it as JSON, anew for each answer. For a page of 500 tools that
takes longer than to read them; so a list's handler returns it without its tools, and these are put
in their place here. All else of the answer is the SDK's.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

PLACE = b'"tools":[]'
"""What an answer has where tools go in. In a JSON string its quotes would be escaped."""


class Splice:
    """The sending of one answer; `tools` are what goes into it, as JSON with commas between."""

    def __init__(self, send: Send) -> None:
        """Send by `send`."""
        self._send = send
        self._start: Message | None = None
        self.tools = b""

    async def __call__(self, message: Message) -> None:
        """Send a message of the answer; its head waits for the body where it tells its length."""
        if message["type"] == "http.response.start":
            if self.tools and "content-length" in MutableHeaders(scope=message):
                self._start = message
                return
        elif message["type"] == "http.response.body":
            message = self._filled(message)
            if self._start is not None:
                await self._send(self._start)
                self._start = None
        await self._send(message)

    def _filled(self, message: Message) -> Message:
        body: bytes = message.get("body", b"")
        if not self.tools or PLACE not in body:
            return message
        tools, self.tools = self.tools, b""
        if self._start is not None:
            headers = MutableHeaders(scope=self._start)
            headers["content-length"] = str(int(headers["content-length"]) + len(tools))
        return {**message, "body": body.replace(PLACE, PLACE[:-1] + tools + b"]", 1)}
