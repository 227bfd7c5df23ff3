"""`manage.py sync_packages`."""

from argparse import ArgumentParser
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from config.lib.errors import DomainError
from registry.importing.jobs import import_run
from registry.importing.sync.dispatch import entry_import
from registry.importing.sync.feeds import feed_named, feeds_ensure
from registry.importing.sync.judging import Judged, judge
from registry.importing.sync.running import feed_look, package_look
from registry.importing.sync.sources import newest_of, page_of
from registry.models import SyncEntry, SyncFeed, SyncRun
from registry.models.package import Ecosystem
from registry.models.sync import EntryState


class Command(BaseCommand):
    """Look registries through here and now; what is new becomes candidates."""

    help = (
        "Look the configured registries through for new packages and new versions, here and now, "
        "and import them as candidates for review. Without options: every feed that is on. Exits "
        "with 1 when a registry could not be asked or an import failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what is looked through."""
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--keyword", default="", help="npm packages with this keyword")
        which.add_argument(
            "--known", action="store_true", help="new versions of packages that are here"
        )
        which.add_argument(
            "--feed", action="store_true", help="every feed, also those that are off"
        )
        which.add_argument("--package", default="", help="the npm package of this name alone")
        parser.add_argument(
            "--dry-run", action="store_true", help="tell what would be imported; change nothing"
        )

    def handle(self, *_args: Any, dry_run: bool, **options: Any) -> None:
        """Look, then import what was found, under a bar of progress."""
        try:
            feeds_ensure()
            if options["package"]:
                self._package(options["package"], dry_run=dry_run)
                return
            feeds = self._feeds(options)
            for feed in feeds:
                self._dry(feed) if dry_run else self._look(feed)
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint} ({error.code})") from error

    def _feeds(self, options: dict[str, Any]) -> list[SyncFeed]:
        if options["keyword"] or options["known"]:
            return [feed_named(options["keyword"])]
        feeds = SyncFeed.objects.order_by("kind", "keyword")
        chosen = list(feeds if options["feed"] else feeds.filter(enabled=True))
        if not chosen:
            raise CommandError(
                "No feed is on. Turn one on in the admin (Sync feeds), set OUTFITTER_SYNC_KEYWORD, "
                "or say --keyword, --known, --feed or --package."
            )
        return chosen

    def _package(self, name: str, *, dry_run: bool) -> None:
        if dry_run:
            for item in judge([newest_of(Ecosystem.NPM, name)]):
                self._tell(item)
            return
        self._import(package_look(name))

    def _dry(self, feed: SyncFeed) -> None:
        """Read every page and tell what is new; no row is written."""
        self.stdout.write(f"{feed}:")
        cursor: Any = {}
        while cursor is not None:
            page = page_of(feed, cursor)
            for item in judge(page.found):
                self._tell(item)
            cursor = page.cursor

    def _tell(self, item: Judged) -> None:
        states = {None: "unchanged", EntryState.WAITING: "changed" if item.previous else "new"}
        word = states.get(item.state) or str(item.state)
        self.stdout.write(f"  {word:<9} {item.found.name} {item.found.version} {item.message}")

    def _look(self, feed: SyncFeed) -> None:
        run = feed_look(feed)
        if run.error:
            raise CommandError("{message} {hint} ({code})".format(**run.error))
        self.stdout.write(
            f"{feed}: {run.found} found, {run.new} new, {run.changed} changed, "
            f"{run.unchanged} unchanged, {run.failed} failed."
        )
        self._import(run)

    def _import(self, run: SyncRun) -> None:
        entries = list(run.entries.order_by("name"))
        waiting = [entry for entry in entries if entry.state == EntryState.WAITING]
        for entry in entries:
            if entry not in waiting:
                self.stdout.write(f"  {entry.state:<9} {entry} {entry.message}")
        failed = 0
        with Progress(console=Console(file=cast(IO[str], self.stderr))) as progress:
            task = progress.add_task("Importing", total=len(waiting))
            for entry in waiting:
                failed += not self._brought(entry)
                progress.advance(task)
        if failed:
            raise CommandError(
                f"{failed} package{'s were' if failed > 1 else ' was'} not imported."
            )
        told = f"{len(waiting)} package{'' if len(waiting) == 1 else 's'} imported for review."
        self.stdout.write(self.style.SUCCESS(told))

    def _brought(self, entry: SyncEntry) -> bool:
        job = entry_import(entry, queued=False)
        done = import_run(job.pk) if job else None
        if done is not None and not done.error:
            counts = ", ".join(f"{item['status']} {item['export']}" for item in done.report)
            self.stdout.write(f"  imported  {entry}: {counts}")
            return True
        told = done.error["message"] if done and done.error else entry.message
        self.stdout.write(f"  failed    {entry}: {told or 'it is being imported already.'}")
        return False
