"""Encoding, decoding, hashing."""

import pytest

from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run

ENCODINGS = ["base64", "base64url", "hex", "url", "html"]


@pytest.mark.parametrize("name", ENCODINGS)
def test_what_was_encoded_is_decoded_again(name: str) -> None:
    source = "<é> & 🇫🇷 + /?"
    encoded = run("encode_text", {"text": source, "to": name})["text"]
    assert run("decode_text", {"text": encoded, "source": name})["text"] == source


@pytest.mark.parametrize("name", ENCODINGS)
def test_half_of_a_character_is_refused(name: str) -> None:
    for tool, option in (("encode_text", "to"), ("decode_text", "source")):
        with pytest.raises(ToolInputRejected, match="half of a character"):
            run(tool, {"text": "a\ud800", option: name})


def test_half_of_a_character_is_not_hashed() -> None:
    with pytest.raises(ToolInputRejected, match="half of a character"):
        run("hash_text", {"text": "\udfff"})


@pytest.mark.parametrize("text", ["aGVsbG8", "aGVsbG8=", "aGVsbG8===", "aGVs bG8=\n"])
def test_base64_is_read_with_any_padding(text: str) -> None:
    assert run("decode_text", {"text": text})["text"] == "hello"


@pytest.mark.parametrize(
    ("text", "name"), [("aGV=sbG8", "base64"), ("a", "base64"), ("/w==", "base64"), ("0g", "hex")]
)
def test_what_is_not_encoded_is_refused(text: str, name: str) -> None:
    with pytest.raises(ToolInputRejected):
        run("decode_text", {"text": text, "source": name})
