"""Compare what two manifests say of who makes a package and what it does when installed."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.review.cues import BLOCK, INFO, WARN
from registry.review.texts import finding

Manifest = Mapping[str, JsonValue]
LIFECYCLE = ("preinstall", "install", "postinstall", "prepare")
_FOREIGN = ("git+", "git:", "http:", "https:", "file:", "github:", "gitlab:", "bitbucket:", "link:")
_LISTED = 8


def manifest_findings(old: Manifest, new: Manifest) -> Iterator[JsonObject]:
    """Yield what a reviewer should know of the change from one manifest to the next."""
    yield from _scripts(old, new)
    for code, told, keys in (
        (
            "publisher_changed",
            "Who makes it",
            ("author", "maintainers", "contributors", "_npmUser"),
        ),
        ("repository_changed", "Where its source is", ("repository", "homepage")),
        ("licence_changed", "Its licence", ("license", "licenses")),
    ):
        for key in keys:
            before, after = _said(old.get(key)), _said(new.get(key))
            if before and before != after:
                message = f"{told} changed: from “{before}” to “{after or 'nothing'}”."
                yield finding(code, f"package.manifest.{key}", WARN, message)
    if old:
        yield from _dependencies(old, new)


def _scripts(old: Manifest, new: Manifest) -> Iterator[JsonObject]:
    """Yield scripts that an ordinary install would run; the sandbox runs none of them."""
    before, after = _object(old.get("scripts")), _object(new.get("scripts"))
    for name in LIFECYCLE:
        script = after.get(name)
        if not script or script == before.get(name):
            continue
        severity = BLOCK if old else WARN
        message = f"It has a script for “{name}”: {str(script)[:160]}. It is never run here."
        yield finding("install_script", f"package.manifest.scripts.{name}", severity, message)
    if new.get("gypfile") and not old.get("gypfile"):
        message = "It builds machine code when it is installed; here it is not built."
        yield finding("native_build", "package.manifest.gypfile", WARN, message)


def _dependencies(old: Manifest, new: Manifest) -> Iterator[JsonObject]:
    before, after = _requires(old), _requires(new)
    added = [name for name in after if name not in before]
    if added:
        listed = ", ".join(added[:_LISTED]) + (", …" if len(added) > _LISTED else "")
        message = f"It would depend on {len(added)} more: {listed}."
        yield finding("new_dependency", "package.manifest.dependencies", INFO, message)
    for name in after:
        source = str(after[name])
        if source != before.get(name) and source.startswith(_FOREIGN):
            message = f"It would take {name} from outside the registry: {source[:160]}."
            path = f"package.manifest.dependencies.{name}"
            yield finding("foreign_dependency", path, BLOCK, message)


def _requires(manifest: Manifest) -> dict[str, JsonValue]:
    """Return what a package.json or a wheel's metadata depends on, `{name: range}`."""
    required = {
        **_object(manifest.get("optionalDependencies")),
        **_object(manifest.get("dependencies")),
    }
    listed = manifest.get("requires")
    for line in listed if isinstance(listed, list) else []:
        text = str(line)
        name, _, source = text.partition(" @ ")
        required[_name(name)] = source.strip() or text
    return required


def _name(requirement: str) -> str:
    """Return the name that a line of Requires-Dist begins with."""
    end = next((i for i, letter in enumerate(requirement) if letter in " ;<>=!~[("), None)
    return requirement[:end].lower().replace("_", "-")


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _said(value: JsonValue) -> str:
    """Return in one line what a manifest says under a key, in whichever of its shapes."""
    match value:
        case str():
            return value.strip()[:160]
        case dict():
            parts = (value.get(key) for key in ("name", "email", "url", "type"))
            return " ".join(str(part) for part in parts if part)[:160]
        case list():
            return ", ".join(filter(None, map(_said, value)))[:160]
        case _:
            return ""
