"""A tool that imports nothing."""


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b
