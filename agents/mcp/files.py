"""Files that a tool saved, in the result of its call: pictures and sounds as such.

A conversation or a run keeps such files; a call of an MCP client belongs to neither, so that the
client is handed them.
"""

import base64
from collections.abc import Mapping
from urllib.parse import quote

import mcp_types as types

from config.lib.types import JsonObject, JsonValue
from registry.media import media_blocks
from registry.saved_files import FILES

TEXTS = ("text/", "application/json", "application/xml")
"""How the media types of files begin that are sent as text, where they are UTF-8."""


def file_blocks(details: Mapping[str, JsonValue] | None, *, call: str) -> list[types.ContentBlock]:
    """Return the files of a result; those that are embedded are named by the `call`."""
    files: list[JsonObject] = (details or {}).get(FILES) or []
    return [
        _shown(file) or _embedded(file, f"outfitter://calls/{call}/files/{number}")
        for number, file in enumerate(files, 1)
        if isinstance(file.get("data"), str)
    ]


def _shown(file: JsonObject) -> types.ContentBlock | None:
    """Return a picture or a sound as such; None for what a model is shown as neither."""
    block = {"mimeType": file["media_type"], "data": file["data"]}
    tried = [{"type": kind, **block} for kind in ("image", "audio")]
    for media in media_blocks({"content": tried}):
        kind = types.ImageContent if media["type"] == "image" else types.AudioContent
        return kind(data=media["data"], mime_type=media["mimeType"])
    return None


def _embedded(file: JsonObject, place: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=_contents(file, place))


def _contents(
    file: JsonObject, place: str
) -> types.TextResourceContents | types.BlobResourceContents:
    uri, media_type = f"{place}/{quote(file['name'], safe='')}", str(file["media_type"])
    if media_type.startswith(TEXTS):
        try:
            text = base64.b64decode(file["data"]).decode()
        except UnicodeDecodeError:
            pass
        else:
            return types.TextResourceContents(uri=uri, mime_type=media_type, text=text)
    return types.BlobResourceContents(uri=uri, mime_type=media_type, blob=file["data"])
