"""Unpack an answer bit by bit, so that a small one cannot become an enormous one."""

import zlib
from collections.abc import Iterator

from registry.errors import ResponseTooLarge, UpstreamError

ACCEPTED = "gzip, deflate"
"""What is asked for; an answer in any other encoding is refused."""

PIECE = 65_536
"""Bytes that are unpacked at a time."""

ANY_CONTAINER = zlib.MAX_WBITS | 32
"""For zlib: find out by the first bytes whether it is gzip or deflate."""


class Decoder:
    """Takes an answer's bytes as they come and gives them unpacked, up to `limit` of either."""

    def __init__(self, encoding: str, *, limit: int, host: str) -> None:
        self._limit, self._host = limit, host
        self._received = self._given = 0
        match encoding.strip().lower():
            case "" | "identity":
                self._unpack = None
            case "gzip" | "x-gzip" | "deflate":
                self._unpack = zlib.decompressobj(ANY_CONTAINER)
            case other:
                raise UpstreamError(
                    f"{host} answered in the encoding “{other[:40]}”, which was not asked for.",
                    "Ask the service's operator to send plain or gzip answers.",
                )

    def expect(self, length: str | None) -> None:
        """Refuse an answer whose announced length is over the limit."""
        if length and length.isdigit() and int(length) > self._limit:
            raise self._too_large()

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield what these bytes unpack to; raise ResponseTooLarge or UpstreamError."""
        self._received += len(raw)
        if self._received > self._limit:
            raise self._too_large()
        if self._unpack is None:
            yield raw
            return
        while raw:
            if self._unpack.eof:  # gzip may be several members, one after the other
                self._unpack = zlib.decompressobj(ANY_CONTAINER)
            try:
                piece = self._unpack.decompress(raw, PIECE)
            except zlib.error:
                raise self._damaged() from None
            raw = self._unpack.unused_data or self._unpack.unconsumed_tail
            self._given += len(piece)
            if self._given > self._limit:
                raise self._too_large()
            if piece:
                yield piece

    def finish(self) -> None:
        """Raise UpstreamError when the answer broke off in the middle of what was packed."""
        if self._unpack is not None and self._received and not self._unpack.eof:
            raise self._damaged()

    def _too_large(self) -> ResponseTooLarge:
        return ResponseTooLarge(
            f"{self._host} answered with more than {self._limit:,} bytes.", limit=self._limit
        )

    def _damaged(self) -> UpstreamError:
        return UpstreamError(f"The compressed answer of {self._host} cannot be unpacked.")
