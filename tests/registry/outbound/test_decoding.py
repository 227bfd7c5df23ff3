"""Packed answers, small and monstrous."""

import gzip
import zlib

import pytest

from registry.errors import ResponseTooLarge, UpstreamError
from registry.outbound.decoding import PIECE, Decoder


def unpacked(encoding: str, *parts: bytes, limit: int = 1_000_000) -> bytes:
    decoder = Decoder(encoding, limit=limit, host="example.com")
    pieces = [piece for part in parts for piece in decoder.feed(part)]
    decoder.finish()
    assert all(len(piece) <= PIECE for piece in pieces) or not encoding
    return b"".join(pieces)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [("gzip", gzip.compress(b"hello")), ("deflate", zlib.compress(b"hello")), ("", b"hello")],
)
def test_what_was_packed_comes_out(encoding: str, packed: bytes) -> None:
    assert unpacked(encoding, packed) == b"hello"
    assert unpacked(encoding, *(packed[i : i + 1] for i in range(len(packed)))) == b"hello"


def test_several_members_are_one_answer() -> None:
    assert (
        unpacked("gzip", gzip.compress(b"a") + gzip.compress(b"b"), gzip.compress(b"c")) == b"abc"
    )


def test_a_long_answer_comes_out_whole_in_bounded_pieces() -> None:
    text = bytes(range(256)) * 3_000
    assert unpacked("gzip", gzip.compress(text)) == text


def test_a_bomb_is_defused_at_the_limit() -> None:
    bomb = gzip.compress(b"\0" * 200_000_000)
    with pytest.raises(
        ResponseTooLarge, match=r"example\.com answered with more than 300,000 byte"
    ):
        unpacked("gzip", bomb, limit=300_000)


def test_a_bomb_inside_a_bomb_is_refused_for_its_encoding() -> None:
    with pytest.raises(UpstreamError, match="gzip, gzip"):
        unpacked("gzip, gzip", b"")


@pytest.mark.parametrize("packed", [b"not gzip at all", gzip.compress(b"hello" * 99)[:-9]])
def test_a_damaged_answer_is_told(packed: bytes) -> None:
    with pytest.raises(UpstreamError, match="cannot be unpacked"):
        unpacked("gzip", packed)


def test_an_empty_answer_needs_no_unpacking() -> None:
    assert unpacked("gzip") == b""
