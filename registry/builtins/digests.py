"""Checksums."""

import base64
import hashlib

from config.lib.types import JsonObject
from registry.builtins import utf8
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import choice, produced, record, text

ALGORITHMS = ("sha256", "sha512", "sha1", "md5", "blake2b", "sha3_256")


def hash_text(arguments: JsonObject) -> JsonObject:
    """Return the digest of `text` in UTF-8."""
    data = utf8.encoded(arguments["text"])
    # md5 and sha1 are offered for checksums that others have made, not for security
    digest = hashlib.new(arguments["algorithm"], data, usedforsecurity=False).digest()
    as_text = digest.hex() if arguments["output"] == "hex" else base64.b64encode(digest).decode()
    return {"digest": as_text, "algorithm": arguments["algorithm"]}


TOOLS = (
    Builtin(
        name="hash_text",
        title="Hash text",
        description=(
            "Compute the checksum (hash, digest) of a text by SHA-256, SHA-512, SHA-1, MD5, "
            "BLAKE2b or SHA3-256, in hexadecimal or Base64."
        ),
        category="encoding",
        input_schema=record(
            {
                "text": text("The text to hash, taken as UTF-8."),
                "algorithm": choice("Which hash.", list(ALGORITHMS), "sha256"),
                "output": choice("How to write it.", ["hex", "base64"], "hex"),
            },
            required=("text",),
        ),
        output_schema=record(
            {
                "digest": produced("string", "The digest."),
                "algorithm": produced("string", "Which hash it is."),
            }
        ),
        ai_agent=guidance(
            "When the user wants a hash, checksum or fingerprint of a text.",
            "Not for storing passwords; it hashes text, not files.",
            "What is the SHA-256 of 'hello'?",
            "Give me the md5 checksum of this string",
            "Compute a sha512 digest",
        ),
        run=hash_text,
    ),
)
