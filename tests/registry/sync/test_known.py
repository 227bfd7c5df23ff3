"""New versions of packages that are here, by the feed of what is known and by command."""

import pytest
from django.core.management import CommandError, call_command

from registry.importing.sync.feeds import feed_named
from registry.importing.sync.judging import is_older
from registry.importing.sync.running import feed_look
from registry.models import ImportJob, Package, Proposal, SyncEntry, SyncFeed
from registry.models.package import ReviewStatus
from registry.services import package_review
from tests.registry.sync.test_feed import bring_all

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]


def imported(npm, name, version="1.0.0", **manifest):
    """Publish a package without the keyword, import and approve it."""
    npm.publish(name, version, keywords=[], **manifest)
    call_command("import_package", "npm", f"{name}@{version}", "--approve")
    return Package.objects.get(name=name)


def look():
    return feed_look(feed_named(""))


def test_a_new_version_of_a_package_without_the_keyword_is_proposed(npm):
    package = imported(npm, "known-moves")
    npm.publish(package.name, "1.0.1", "export const shout = tool('Louder');", keywords=[])

    run = look()
    bring_all()

    package.refresh_from_db()
    assert (run.found, run.changed, package.version) == (1, 1, "1.0.0")
    assert Proposal.objects.get(package=package, state="open").after["version"] == "1.0.1"
    assert (look().unchanged, ImportJob.objects.filter(cause="sync").count()) == (1, 1)


def test_deprecation_and_unpublishing_are_noted_once_and_change_nothing(npm):
    package = imported(npm, "known-old", "2.0.0")
    npm.npm("deprecate", "known-old@2.0.0", "nobody mends it")
    look()
    look()

    entry = SyncEntry.objects.get()
    assert "The version in use is deprecated: nobody mends it" in entry.message
    assert entry.state == "noted"
    Package.objects.filter(pk=package.pk).update(version="1.5.0")
    npm.publish("known-old", "3.0.0", keywords=[])
    look()
    newest = SyncEntry.objects.get(version="3.0.0")
    assert "it was unpublished" in newest.message


def test_another_integrity_of_the_version_in_use_is_looked_into_once(npm):
    package = imported(npm, "known-tampered")
    Package.objects.filter(pk=package.pk).update(integrity="sha512-other")

    assert [look().changed, look().changed] == [1, 0]
    entry = SyncEntry.objects.get()
    assert (entry.version, entry.message.startswith("The registry states another")) == (
        "1.0.0",
        True,
    )


def test_what_review_stopped_is_not_looked_up_and_what_vanished_is_told(npm):
    package = imported(npm, "known-stopped")
    gone = imported(npm, "known-gone")
    Package.objects.filter(pk=gone.pk).update(name="known-vanished")
    package_review(package, status=ReviewStatus.REJECTED)

    run = look()

    assert (run.found, run.failed) == (1, 1)
    assert "no npm package called known-vanished" in run.entries.get().message


def test_an_older_newest_version_is_no_news():
    assert is_older("1.0.0", "1.0.1")
    assert is_older("1.0.0-beta.1", "1.0.0")
    assert not is_older("1.0.0-next.3", "1.0.0")


class TestCommand:
    def test_a_keyword_is_looked_for_and_imported_here_and_now(self, npm, capsys):
        npm.publish("command-one", "1.0.0", keywords=["command-k"])

        call_command("sync_packages", "--keyword", "command-k", "--dry-run")
        assert "new       command-one 1.0.0" in capsys.readouterr().out
        assert not SyncEntry.objects.exists()
        call_command("sync_packages", "--keyword", "command-k")

        said = capsys.readouterr()
        assert "imported  command-one@1.0.0: added shout" in said.out
        assert "1 package imported for review." in said.out
        package = Package.objects.get(name="command-one")
        assert package.review_status == ReviewStatus.CANDIDATE

    def test_one_package_is_brought_up_to_date_as_a_proposal(self, npm, capsys):
        package = imported(npm, "command-pkg")
        npm.publish("command-pkg", "1.1.0", "export const shout = tool('New');")

        call_command("sync_packages", "--package", "command-pkg")

        assert "proposed shout" in capsys.readouterr().out
        package.refresh_from_db()
        assert package.version == "1.0.0"

    def test_a_package_that_cannot_be_imported_is_told_with_an_exit_status(self, npm, capsys):
        npm.publish("command-none", "1.0.0", "export const A = 1;", keywords=["command-bad"])

        with pytest.raises(CommandError, match="1 package was not imported"):
            call_command("sync_packages", "--keyword", "command-bad")
        assert "neither declares nor exports a tool" in capsys.readouterr().out

    def test_unknown_names_and_no_feed_at_all_are_told(self, npm):
        with pytest.raises(CommandError, match="no npm package called command-nothing"):
            call_command("sync_packages", "--package", "command-nothing")
        with pytest.raises(CommandError, match="No feed is on"):
            call_command("sync_packages")
        with pytest.raises(CommandError, match="not a keyword"):
            call_command("sync_packages", "--keyword", "two words")

    def test_a_keyword_of_the_environment_turns_the_feeds_on(self, npm, settings):
        settings.SYNC_KEYWORD = "from-env"
        call_command("sync_packages")
        assert set(SyncFeed.objects.filter(enabled=True).values_list("keyword", flat=True)) == {
            "",
            "from-env",
        }
