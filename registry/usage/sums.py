"""The SQL that turns calls into sums; the same for writing, rebuilding and reading."""

from registry.errors import Fault, ToolError
from registry.models.triggers import CALL_COLUMNS, UNDECLARED
from registry.usage.histogram import BOUNDS, BUCKETS

COUNTS = ("calls", "succeeded", "failed", "refused", "faults")
MEASURES = (*COUNTS, "durations", "total_ms", "cost", "last_at")

REFUSED = (
    "outcome = 'failed' AND (phase IN ('search', 'permission', 'approval')"
    " OR decision IN ('denied', 'refused', 'limited', 'stopped'))"
)
"""SQL: the call was stopped at the door."""

RAN = "phase = 'execute'"
"""SQL: the call reached the tool, so that its duration says something of the tool."""

NOT_THE_TOOLS = (Fault.NONE, Fault.SIGN_IN, Fault.NEEDS_KEY)
"""Faults of classes that one failure alone does not hold against the tool."""

KEYS = {
    "toolusage": ("hour", "tool_id", "agent_id", "caller"),
    "toolusageday": ("day", "tool_id", "agent_id", "caller"),
    "personusageday": ("day", "tool_id", "user_id"),
    "siteusage": ("hour",),
}
"""Table (without its prefix) → what its rows are told apart by."""

_PARTS = {
    "hour": "date_trunc('hour', created_at, 'UTC')",
    "day": "(created_at AT TIME ZONE 'UTC')::date",
}


def fault_codes() -> tuple[str, ...]:
    """Return the codes of the errors that speak against the tool itself."""
    codes: set[str] = set()
    waiting = [ToolError]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.health not in NOT_THE_TOOLS:
            codes.add(kind.code)
    return tuple(sorted(codes))


PLACE = f"CASE WHEN {RAN} THEN width_bucket(duration_ms, ARRAY{list(BOUNDS)}) END AS place"
"""SQL: in which bar of the histogram a call counts. `measured` asks for it in what it sums up, for
to work it out once a call instead of once a bar is many times as quick."""


def measured() -> str:
    """Return the aggregates of `MEASURES` over rows of calls with their `PLACE`, in order.

    The parameter `%(faults)s` is used.
    """
    buckets = ", ".join(f"count(*) FILTER (WHERE place = {bucket})" for bucket in range(BUCKETS))
    failed = f"outcome = 'failed' AND NOT ({REFUSED})"
    return f"""
        count(*) AS calls, count(*) FILTER (WHERE outcome = 'succeeded') AS succeeded,
        count(*) FILTER (WHERE {failed}) AS failed,
        count(*) FILTER (WHERE {REFUSED}) AS refused,
        count(*) FILTER (
            WHERE {failed} AND (error_code = ANY(%(faults)s) OR undeclared)) AS faults,
        ARRAY[{buckets}]::int[] AS durations,
        coalesce(sum(duration_ms) FILTER (WHERE {RAN}), 0) AS total_ms,
        sum(cost) AS cost, max(created_at) AS last_at"""


def gathered(table: str) -> str:
    """Return the statement that inserts the sums of the CTE `calls` into a table that has none."""
    keys = KEYS[table]
    parts = ", ".join(_PARTS.get(key, key) for key in keys)
    return f"""
        INSERT INTO registry_{table} ({", ".join((*keys, *MEASURES))})
        SELECT {parts}, {measured()} FROM calls GROUP BY {_positions(len(keys))}"""  # noqa: S608


def inserted(table: str) -> str:
    """Return the statement that adds the calls of the CTE `calls` to a table of sums."""
    keys = KEYS[table]
    name = f"registry_{table}"
    added = ", ".join(f"{count} = {name}.{count} + excluded.{count}" for count in COUNTS)
    return f"""{gathered(table)}
        ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {added},
            durations = ARRAY(SELECT a + b
                FROM unnest({name}.durations, excluded.durations) AS pair(a, b)),
            total_ms = {name}.total_ms + excluded.total_ms,
            cost = coalesce({name}.cost + excluded.cost, {name}.cost, excluded.cost),
            last_at = greatest({name}.last_at, excluded.last_at)"""  # noqa: S608


def errors_gathered() -> str:
    """Return the statement that inserts the errors of the CTE `calls`, by tool and altogether."""
    hour = _PARTS["hour"]
    return f"""
        INSERT INTO registry_errorusage (hour, code, tool_id, agent_id, calls, last_at)
        SELECT {hour}, error_code, tool_id, agent_id, count(*), max(created_at)
        FROM calls WHERE error_code <> ''
        GROUP BY GROUPING SETS ((1, 2, tool_id, agent_id), (1, 2))"""  # noqa: S608


def errors_inserted() -> str:
    """Return the statement that adds the errors of the CTE `calls`, by tool and altogether."""
    return f"""{errors_gathered()}
        ON CONFLICT (tool_id, hour, agent_id, code) DO UPDATE SET
            calls = registry_errorusage.calls + excluded.calls,
            last_at = greatest(registry_errorusage.last_at, excluded.last_at)"""


def recorded(where: str) -> str:
    """Return the query of the recorded calls, in the shape of those that wait."""
    columns = ", ".join(f"call.{column}" for column in CALL_COLUMNS)
    return f"""
        SELECT {columns}, {UNDECLARED.format(row="call")} AS undeclared
        FROM registry_invocation call
        WHERE caller <> 'health' AND {where}"""  # noqa: S608


def steps(calls: str, *inserts: str) -> str:
    """Return the statement that hands what the query `calls` returns to each of `inserts`.

    They read it as the CTE `calls`; the answer is how many there are.
    """
    named = ",\n".join(f"step_{place} AS ({step})" for place, step in enumerate(inserts))
    return f"""WITH taken AS MATERIALIZED ({calls}),
        calls AS MATERIALIZED (SELECT *, {PLACE} FROM taken),
        {named} SELECT count(*) FROM calls"""  # noqa: S608 - own names only


def _positions(count: int) -> str:
    return ", ".join(str(place) for place in range(1, count + 1))
