"""Texts as bytes."""

from registry.errors import ToolInputRejected


def encoded(text: str) -> bytes:
    """Return the text in UTF-8; refuse half of a surrogate pair, which stands for no character."""
    try:
        return text.encode()
    except UnicodeEncodeError as problem:
        raise ToolInputRejected(
            f"The text holds half of a character at position {problem.start + 1}.",
            "Send whole characters: an emoji may have been cut in two.",
        ) from None
