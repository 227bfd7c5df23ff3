"""Encode and decode text."""

import base64
import binascii
import html
from collections.abc import Callable
from urllib.parse import quote, unquote_to_bytes

from config.lib.types import JsonObject
from registry.builtins import utf8
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import choice, produced, record, text
from registry.errors import ToolInputRejected


def _padded(value: str) -> bytes:
    compact = "".join(value.split()).rstrip("=")
    return (compact + "=" * (-len(compact) % 4)).encode("ascii")


ENCODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64url": lambda value: base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
    "hex": lambda value: value.encode().hex(),
    "url": lambda value: quote(value, safe=""),
    "html": html.escape,
}
DECODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda value: base64.b64decode(_padded(value), validate=True).decode(),
    "base64url": lambda value: base64.b64decode(
        _padded(value), altchars=b"-_", validate=True
    ).decode(),
    "hex": lambda value: bytes.fromhex(value.removeprefix("0x")).decode(),
    "url": lambda value: unquote_to_bytes(value.replace("+", " ")).decode(),
    "html": html.unescape,
}


def encode_text(arguments: JsonObject) -> JsonObject:
    """Return `text` encoded as `to`."""
    utf8.encoded(arguments["text"])
    return {"text": ENCODERS[arguments["to"]](arguments["text"])}


def decode_text(arguments: JsonObject) -> JsonObject:
    """Return what `text` spells in the encoding `source`."""
    source = arguments["source"]
    utf8.encoded(arguments["text"])
    try:
        return {"text": DECODERS[source](arguments["text"])}
    except UnicodeDecodeError:
        raise ToolInputRejected(
            f"The {source} decodes to bytes that are not text.", "It may be an image or a file."
        ) from None
    except (binascii.Error, ValueError):
        raise ToolInputRejected(
            f"This is not valid {source}.", "Check that it is complete, or name another encoding."
        ) from None


NAMES = list(ENCODERS)
TOOLS = (
    Builtin(
        name="encode_text",
        title="Encode text",
        description="Encode a text as Base64, URL-safe Base64, hexadecimal, URL or HTML escapes.",
        category="encoding",
        input_schema=record(
            {
                "text": text("The text to encode."),
                "to": choice("The encoding to write.", NAMES, "base64"),
            },
            required=("text",),
        ),
        output_schema=record({"text": produced("string", "The encoded text.")}),
        ai_agent=guidance(
            "When the user wants text encoded or escaped, for example as Base64 or for a URL.",
            "It encodes; it does not encrypt.",
            "Encode 'hello world' as base64",
            "URL-encode this query string",
            "Escape this for HTML",
        ),
        run=encode_text,
    ),
    Builtin(
        name="decode_text",
        title="Decode text",
        description="Decode Base64, URL-safe Base64, hexadecimal, URL or HTML escapes into text.",
        category="encoding",
        input_schema=record(
            {
                "text": text("What to decode."),
                "source": choice("The encoding it is in.", NAMES, "base64"),
            },
            required=("text",),
        ),
        output_schema=record({"text": produced("string", "The decoded text.")}),
        ai_agent=guidance(
            "When the user wants to read something that is encoded or escaped.",
            "Decodes to text only, not to images or files.",
            "Decode this base64: aGVsbG8=",
            "What does %20and%20 mean in this URL?",
            "Unescape &lt;b&gt;",
        ),
        run=decode_text,
    ),
)
