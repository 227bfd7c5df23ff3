"""What the worker does for the registry. Arguments are ids; a task claims its row first."""

import logging
import time
from uuid import UUID

from celery import shared_task

from config.lib.errors import DomainError
from registry.audit import retention
from registry.importing import schedule
from registry.importing.health_check import due_check
from registry.importing.jobs import TASK, import_run
from registry.importing.sync import feeds
from registry.importing.sync.dispatch import entries_import
from registry.importing.sync.running import due_sync
from registry.importing.upload_clearing import uploads_clear
from registry.notify.clearing import deliveries_forget
from registry.notify.delivering import events_deliver
from registry.notify.hastening import TELL
from registry.notify.spreading import events_spread
from registry.quality.scoring import BATCH, quality_refresh
from registry.sandbox.client import sandbox
from registry.search.dense.embedding import tools_embed
from registry.selectors import artifacts_in_use
from registry.usage.rolling import usage_roll_up

logger = logging.getLogger(__name__)

CALLS_A_ROUND = 200_000
"""Calls that one roll-up adds, so that a worker is free again within a minute."""

LONGEST_TELLING = 20.0
"""Seconds after which a worker begins to send no more events; the rest is due at the next beat."""

LONGEST_SCORING = 20.0
"""Seconds after which a worker scores no more tools; the rest is due at the next beat."""


@shared_task(name=TASK)
def run_import(job_id: str) -> None:
    """Carry out one queued import."""
    import_run(UUID(job_id))


@shared_task(name=schedule.TASK)
def check_tool_health() -> None:
    """Look at the packages that are due; workers that do this at once share them out."""
    try:
        for check in due_check():
            if check.broken:
                logger.warning("%s: %s", check.package, check.broken)
    except DomainError as error:
        logger.warning("The health of tools was not checked: %s", error.message)


@shared_task(name=retention.TASK)
def clear_records() -> None:
    """Delete the records that no policy keeps any longer."""
    retention.clear_records()


@shared_task(name="registry.collect_artifacts")
def collect_artifacts() -> None:
    """Remove built packages and uploads that no version of a tool refers to, older than a day."""
    if cleared := uploads_clear():
        logger.info("%s uploaded modules removed.", cleared)
    try:
        collected = sandbox().collect(artifacts_in_use())
    except DomainError as error:
        logger.warning("Old artifacts were not removed: %s", error.message)
    else:
        if collected.removed:
            megabytes = collected.freed_bytes / 1_000_000
            logger.info("%s artifacts removed, %.1f MB.", len(collected.removed), megabytes)


@shared_task(name=feeds.TASK)
def sync_packages() -> None:
    """Look registries through for new packages and versions, and import a few of them."""
    due_sync()
    entries_import()


@shared_task(name="registry.roll_up_usage")
def roll_up_usage() -> None:
    """Add the calls that wait to the sums of use, until none is left or the round is over."""
    usage_roll_up(most=CALLS_A_ROUND)


@shared_task(name="registry.score_tools")
def score_tools() -> None:
    """Score the tools of which something new was seen."""
    started = time.monotonic()
    while quality_refresh() == BATCH and time.monotonic() - started < LONGEST_SCORING:
        pass


@shared_task(name="registry.embed_tools")
def embed_tools() -> None:
    """Work out the vectors of tools whose text is new or changed, where an encoder is set."""
    tools_embed()


@shared_task(name=TELL)
def tell_events() -> None:
    """Tell programs what happened, until nothing is due or the round is over."""
    started = time.monotonic()
    while events_spread() + events_deliver() and time.monotonic() - started < LONGEST_TELLING:
        pass


@shared_task(name="registry.forget_events")
def forget_events() -> None:
    """Delete deliveries that are older than they are kept."""
    deliveries_forget()
