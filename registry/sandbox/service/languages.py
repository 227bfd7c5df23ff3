"""The languages that packages are run in, each a module with the shape of `Language`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from registry.sandbox.service import javascript, python
from registry.sandbox.service.limits import CALL_LIMITS, Limits
from registry.sandbox.service.profile import Profile
from registry.sandbox.service.runtime import Runtime


class Language(Protocol):
    """How the processes of a language are started. Every guest speaks the same protocol."""

    keeps_cache: bool
    """Whether a first import of the package leaves something that makes later ones faster."""

    def worker(
        self,
        runtime: Runtime,
        artifact: Path,
        *,
        limits: Limits = CALL_LIMITS,
        network: tuple[str, ...] = (),
        warm: bool = False,
    ) -> Profile:
        """Return the profile of a process that serves one package."""


LANGUAGES: Mapping[str, Language] = {"javascript": javascript, "python": python}
