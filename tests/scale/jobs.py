"""What beat and the workers do over and over: of each job one batch, as it is done at scale."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import numpy as np
from django.db import connection
from django.utils import timezone

from registry.audit import retention
from registry.importing import schedule
from registry.importing.sync import feeds
from registry.models import RetentionPolicy, ToolVector
from registry.models.retention_policy import Records
from registry.notify.clearing import deliveries_forget
from registry.notify.delivering import _claim
from registry.quality.scoring import quality_refresh
from registry.search.dense.encoder import Floats
from registry.search.dense.storing import BATCH as VECTORS
from registry.search.dense.storing import at_work, vectors_round
from registry.search.position import changes_between, position_now
from registry.search.reader import LATEST
from registry.usage import sums
from registry.usage.rolling import BATCH, usage_roll_up
from sequences.reaper import requeue_lost, resend_unsent
from sequences.requests import requests_expire
from sequences.triggers.deliveries import deliveries_clear
from sequences.triggers.due import schedules_start

KEEP_DAYS = 179
"""Of the 180 days that are filled, so that a retention finds about a day of rows to delete."""


def _roll_up() -> None:
    waiting = sums.recorded("created_at > now() - interval '1 hour'")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO registry_usagepending (created_at, tool_id, agent_id, user_id, caller, "
            f"outcome, phase, error_code, decision, duration_ms, cost, undeclared) {waiting} "
            f"LIMIT {BATCH}"
        )
    usage_roll_up(most=BATCH)


def _retain(records: Records) -> Callable[[], object]:
    table = retention._TABLES[records]
    before = timezone.now() - timedelta(days=KEEP_DAYS)
    return lambda: retention._delete_batch(table, before)


class _Encoder:
    """Bears the name that `seed_scale` gives to whoever made its vectors."""

    name = "scale"
    dimensions = 384

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.ones((len(texts), self.dimensions), np.float32)


def _embed(*, due: int) -> Callable[[], object]:
    def job() -> None:
        some = ToolVector.objects.order_by("pk").values_list("pk", flat=True)[:due]
        ToolVector.objects.filter(pk__in=list(some)).update(due_at=timezone.now())
        at_work()
        vectors_round(_Encoder())

    return job


JOBS: dict[str, Callable[[], object]] = {
    "roll_up_usage": _roll_up,
    "score_tools": quality_refresh,
    "check_tool_health: lease": lambda: schedule.lease_due(10),
    "sync_packages: lease": feeds.feed_lease,
    "embed_tools: nothing due": _embed(due=0),
    "embed_tools: a batch": _embed(due=2 * VECTORS),
    "search: what changed": lambda: changes_between(position_now().oldest, LATEST),
    "recover_runs": lambda: (requeue_lost(timezone.now()), resend_unsent(timezone.now())),
    "expire_requests": lambda: requests_expire(timezone.now()),
    "start_due_schedules": lambda: schedules_start(timezone.now()),
    "tell_events: claim": _claim,
    "forget_events": deliveries_forget,
    "forget_deliveries": lambda: deliveries_clear(timezone.now()),
    "clear_records: policies": lambda: list(RetentionPolicy.objects.all()),
    **{f"clear_records: {records}": _retain(records) for records in Records},
}
