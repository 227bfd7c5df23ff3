"""The product's own source, for tests that read it."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "registry", "agents", "sequences", "chat")
RUN_WHEN_IMPORTED = ("__main__", "config.asgi")


def source_files() -> list[Path]:
    """Return every Python file of the product, without tests and migrations."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return [ROOT / "manage.py", *(path for path in files if "migrations" not in path.parts)]


def import_everything() -> None:
    """Import every module, so that `__subclasses__()` knows all there is."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(
            importlib.import_module(package).__path__, f"{package}."
        ):
            if "migrations" not in module.name and not module.name.endswith(RUN_WHEN_IMPORTED):
                importlib.import_module(module.name)


def subclasses_of(parent: type[Any]) -> Iterator[type[Any]]:
    """Yield a class and all that descend from it."""
    yield parent
    for child in parent.__subclasses__():
        yield from subclasses_of(child)
