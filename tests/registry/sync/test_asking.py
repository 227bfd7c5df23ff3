"""What the sandbox service learns from a real npm registry."""

import pytest

from registry.errors import PackageNotFound
from registry.importing.sync.sources import newest_of
from registry.sandbox.client import sandbox

pytestmark = pytest.mark.sandbox


def test_a_search_finds_what_was_published(npm):
    name = npm.publish("asked-kit", "1.0.0")

    found = sandbox().search(ecosystem="npm", text="asked-kit").packages

    assert [(item.name, item.version, item.keywords) for item in found] == [
        (name, "1.0.0", ("tpmjs",))
    ]
    assert found[0].date


def test_the_newest_version_is_told_with_its_integrity_and_scripts(npm):
    name = npm.publish("@asked/scripted", "1.0.0", scripts={"postinstall": "node evil.js"})
    npm.publish("@asked/scripted", "1.1.0")

    told = sandbox().newest(ecosystem="npm", name=name, current="1.0.0")

    assert (told.newest.version, told.current.version) == ("1.1.0", "1.0.0")
    assert told.newest.integrity.startswith("sha512-")
    assert told.current.install_scripts
    assert not told.newest.install_scripts


def test_a_deprecated_version_says_why_and_an_unpublished_one_is_gone(npm):
    name = npm.publish("asked-old", "1.0.0")
    npm.publish("asked-old", "2.0.0")
    npm.npm("deprecate", f"{name}@1.0.0", "use 2")

    told = sandbox().newest(ecosystem="npm", name=name, current="1.0.0")
    gone = sandbox().newest(ecosystem="npm", name=name, current="0.9.0")

    assert told.current.deprecated == "use 2"
    assert gone.current.version == ""
    with pytest.raises(PackageNotFound, match="no npm package called asked-nothing"):
        sandbox().newest(ecosystem="npm", name="asked-nothing")


def test_what_was_not_asked_about_is_not_said_to_be_unpublished(npm):
    name = npm.publish("asked-alone", "1.0.0")

    assert newest_of("npm", name).note == ""
    assert "it was unpublished" in newest_of("npm", name, "0.9.0").note
