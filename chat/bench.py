"""The cases of an agent's test bench, and what came of them run by run. The owner's alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet, Sum

from agents.credentials import known_values
from agents.models import Agent
from chat.models import BenchCase, BenchResult, BenchRun
from chat.models.bench import LONGEST_PROMPT, LONGEST_TOOL, BenchState
from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.jsontext import clean_text
from config.lib.masking import SHORTEST_RECODED, Masker

MOST_CASES = 200
"""Cases of one agent: each asks the model at least once."""

LONGEST_QUOTED = 80
NONE = "none"
"""How a person writes that no tool should be called."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a run came to; `offered` counts among those `expecting` a tool; `cost` in US dollars."""

    total: int
    done: int
    passed: int
    expecting: int
    offered: int
    failed: int
    tokens: int
    cost: Decimal | None

    @property
    def pass_rate(self) -> float | None:
        """Return the share of the tried cases that passed."""
        return self.passed / self.done if self.done else None

    @property
    def offered_rate(self) -> float | None:
        """Return the share of the expected tools that the model was told of."""
        return self.offered / self.expecting if self.expecting else None


def cases_of(agent: Agent) -> QuerySet[BenchCase]:
    """Return an agent's cases, the oldest first."""
    return BenchCase.objects.filter(agent=agent).order_by("created_at", "pk")


def case_owned_by(user: User, slug: str, case_id: UUID) -> BenchCase:
    """Return one case of a person's own agent, or raise NotFound."""
    cases = BenchCase.objects.filter(pk=case_id, agent__slug=slug, agent__owner=user)
    if case := cases.select_related("agent__owner").first():
        return case
    raise NotFound("There is no such case with an agent of yours.", "See the agent's bench.")


def case_create(agent: Agent, *, prompt: str, tool: str) -> BenchCase:
    """Keep a case; raises InvalidInput for what cannot be kept and Conflict for a second one."""
    return cases_import(agent, [(prompt, tool)])[0]


def cases_import(agent: Agent, lines: Sequence[tuple[str, str]]) -> list[BenchCase]:
    """Keep several cases, all or none; raises as `case_create` does, with the line's number."""
    masker = _masker(agent)
    cases = []
    for number, (prompt, tool) in enumerate(lines, 1):
        where = f"Line {number}: " if len(lines) > 1 else ""
        case = BenchCase(agent=agent)
        _fill(case, prompt, tool, masker, where)
        cases.append(case)
    with transaction.atomic():
        Agent.objects.select_for_update().get(pk=agent.pk)  # so that the limit holds
        if cases_of(agent).count() + len(cases) > MOST_CASES:
            raise InvalidInput(
                f"A bench has at most {MOST_CASES} cases.", "Remove some first.", problems=[]
            )
        for case in cases:
            _save(case)
    return cases


def lines_of(text: str) -> list[tuple[str, str]]:
    """Return the (prompt, tool) of each line `prompt<TAB>tool`; without a tab no tool is expected.

    Raises InvalidInput where there is no line.
    """
    rows = [line.rpartition("\t") for line in text.splitlines() if line.strip()]
    lines = [(before, tool) if tab else (tool, "") for before, tab, tool in rows]
    if not lines:
        raise _invalid("lines", "Paste one case a line: the prompt, a tab, the tool.")
    return lines


def case_update(case: BenchCase, *, prompt: str, tool: str) -> None:
    """Change a case; raises as `case_create` does. Earlier runs keep what they tried."""
    _fill(case, prompt, tool, _masker(case.agent), "")
    with transaction.atomic():
        _save(case)


def runs_of(agent: Agent) -> QuerySet[BenchRun]:
    """Return an agent's runs, the newest first."""
    return BenchRun.objects.filter(agent=agent).order_by("-created_at", "pk")


def run_owned_by(user: User, slug: str, run_id: UUID) -> BenchRun:
    """Return one run of a person's own agent, or raise NotFound."""
    runs = BenchRun.objects.filter(pk=run_id, agent__slug=slug, agent__owner=user)
    if run := runs.select_related("agent__owner").first():
        return run
    raise NotFound("There is no such run with an agent of yours.", "See the agent's bench.")


def results_of(run: BenchRun) -> QuerySet[BenchResult]:
    """Return what came of a run's cases, in order."""
    return BenchResult.objects.filter(run=run).order_by("place")


def summaries_of(runs: Iterable[BenchRun]) -> dict[UUID, Summary]:
    """Return what each run came to, in one query."""
    tried = Q(finished_at__isnull=False)
    rows = (
        BenchResult.objects.filter(run__in=[run.pk for run in runs])
        .values("run_id")
        .annotate(
            total=Count("pk"),
            done=Count("pk", filter=tried),
            passed=Count("pk", filter=Q(passed=True)),
            expecting=Count("pk", filter=tried & ~Q(expected="")),
            offered_count=Count("pk", filter=Q(offered=True)),
            failed=Count("pk", filter=Q(error__isnull=False)),
            tokens=Sum(F("input_tokens") + F("output_tokens")),
            spent=Sum("cost"),
            unpriced=Count("pk", filter=tried & Q(cost=None)),
        )
    )
    return {
        row["run_id"]: Summary(
            total=row["total"],
            done=row["done"],
            passed=row["passed"],
            expecting=row["expecting"],
            offered=row["offered_count"],
            failed=row["failed"],
            tokens=row["tokens"] or 0,
            cost=None if row["unpriced"] else row["spent"],
        )
        for row in rows
    }


def run_before(run: BenchRun) -> BenchRun | None:
    """Return the last run before one that came to its end."""
    return runs_of(run.agent).filter(state=BenchState.DONE, created_at__lt=run.created_at).first()


def flips_between(run: Sequence[BenchResult], before: Sequence[BenchResult]) -> dict[int, bool]:
    """Return place → whether it passes now, of the cases that came out otherwise than before.

    A case is the same where prompt and expected tool are.
    """
    passed = {(row.prompt, row.expected): row.passed for row in before if row.finished_at}
    return {
        row.place: row.passed
        for row in run
        if row.finished_at and passed.get((row.prompt, row.expected), row.passed) != row.passed
    }


def _fill(case: BenchCase, prompt: str, tool: str, masker: Masker, where: str) -> None:
    case.prompt = masker.text(clean_text(prompt).strip())
    tool = clean_text(tool).strip()
    case.tool = "" if tool.lower() == NONE else tool
    if not case.prompt:
        raise _invalid("prompt", f"{where}Say what a person would ask.")
    if len(case.prompt) > LONGEST_PROMPT:
        raise _invalid("prompt", f"{where}A prompt has at most {LONGEST_PROMPT:,} characters.")
    if len(case.tool) > LONGEST_TOOL or any(character.isspace() for character in case.tool):
        raise _invalid("tool", f"{where}Name one tool as the model calls it, or “{NONE}”.")


def _save(case: BenchCase) -> None:
    try:
        with transaction.atomic():
            case.save()
    except IntegrityError:
        shown = case.prompt[:LONGEST_QUOTED]
        raise Conflict(
            f"The bench has this prompt already: “{shown}”.", "Change that one instead."
        ) from None


def _masker(agent: Agent) -> Masker:
    values = known_values(agent.owner, agent)
    return Masker(value for value in values if len(value) >= SHORTEST_RECODED)


def _invalid(path: str, message: str) -> InvalidInput:
    return InvalidInput(
        message, "Correct the named field.", problems=[{"path": path, "message": message}]
    )
