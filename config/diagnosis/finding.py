"""What a check finds."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check; `fix` is empty when there is nothing to mend."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


class Trouble(Exception):
    """A check found something wrong: what, and how to mend it."""

    def __init__(self, detail: str, fix: str) -> None:
        super().__init__(detail)
        self.fix = fix
