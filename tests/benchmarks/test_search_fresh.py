"""What it costs that the index is fresh: loading it, hearing of a change, asking who may see."""

from __future__ import annotations

import random
from datetime import date
from functools import cache

import pytest
from rank_bm25 import BM25Okapi

from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import ToolKind, Visibility
from registry.search import service
from registry.search.document import SearchDocument
from registry.search.facts import Audience, Circumstances, Facts, Narrowing
from registry.search.need import Need
from registry.search.position import Position
from registry.search.reader import Progress, Reader
from registry.search.replica import Replica
from registry.search.snapshot import read_snapshot, write_snapshot
from registry.search.stored import fits_of, reader_of, snapshot_of
from tests.benchmarks.measure import Baseline, compare, held, in_turns, measured, rows_of
from tests.factories import make_package
from tests.registry.search.following import following

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

TOOLS = 100_000
SOME = 10_000

NOW = Circumstances(today=date(2026, 11, 22), scopes=frozenset({"mail.read"}))
AUDIENCE = Audience(person=7, teams=frozenset({3}))


@cache
def catalogue(count: int) -> tuple[list[SearchDocument], dict[str, Facts]]:
    chance = random.Random(5)
    words = [f"{a}{b}" for a in "bcdfglmnprst" for b in ("ana", "eto", "irum", "ols", "unde")] * 40
    words = [f"{word}{n // 60}" for n, word in enumerate(words)]
    weights = [1 / (n + 3) for n in range(len(words))]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, weights, k=length))

    documents = [
        SearchDocument(
            id=f"{n:032x}",
            name=text(3).replace(" ", "_"),
            description=text(25),
            category=f"category {n % 20}",
            package=f"package {n // 12}",
            parameters=tuple(text(3).split()),
            parameter_descriptions=(text(8),),
        )
        for n in range(count)
    ]
    facts = {
        each.id: Facts(
            is_open=n % 7 > 0,
            owner=n % 50,
            team=n % 5,
            category=each.category,
            package=each.package,
            state="execution_broken" if n % 40 == 0 else "healthy",
            scopes=("mail.send",) if n % 30 == 0 else (),
            text=each.text,
        )
        for n, each in enumerate(documents)
    }
    return documents, facts


@pytest.fixture(scope="module")
def replica():
    return Replica.of(*catalogue(TOOLS))


def test_loading_a_hundred_thousand_tools_from_disk(replica, tmp_path):
    path = tmp_path / "search.index"
    fits = fits_of("cluster", "tables")
    write_snapshot(path, snapshot_of(Reader(replica, Position(1, 2, "tables")), "cluster"))

    def load():
        return reader_of(read_snapshot(path, fits), "tables")

    assert len(load().replica) == TOOLS
    built = "building it from documents in memory, once"
    once = measured(lambda: Replica.of(*catalogue(TOOLS)))
    took = in_turns({"": lambda: measured(load)}) | {built: once}
    held(rows_of(f"load {TOOLS:,} tools", took, {built: 0.5}, limit=3000))


def test_a_search_with_filters_costs_no_more_than_one_without(replica):
    need = Need(text="please bana3 the teto of a filter by date")

    def masks(audience=AUDIENCE):
        return replica.columns.masks(audience, Narrowing(), NOW, down_since=0.0)

    compare(
        f"rank {TOOLS:,} tools for one person",
        lambda: replica.engine.rank(need, mask=masks().fit, limit=5),
        Baseline("for nobody, without filters", lambda: replica.engine.rank(need, limit=5), 1.15),
        limit=1.3,
    )


def test_who_may_see_what_is_worked_out_once(replica):
    people = iter(range(1000, 10_000_000))

    def anew():
        audience = Audience(person=next(people), teams=frozenset({3}))
        replica.columns.masks(audience, Narrowing(), NOW, down_since=0.0)

    compare(
        f"filters of {TOOLS:,} tools, known",
        lambda: replica.columns.masks(AUDIENCE, Narrowing(), NOW, down_since=0.0),
        Baseline("for somebody new", anew, 0.5),
        limit=0.1,
    )


@pytest.fixture
def some_tools(transactional_db):
    """Ten thousand tools in the database, each text said by one of them."""
    documents, _ = catalogue(SOME)
    packages = [make_package(name=f"@bench/{number}") for number in range(20)]
    tools = [
        Tool(
            kind=ToolKind.NPM,
            package=packages[number % 20],
            export_name=f"{each.name}_{number}",
            wire_name=f"tool_{number}",
            title=f"Tool {number}",
            description=each.description,
            category=each.category,
            input_schema={"properties": {name: {} for name in each.parameters}},
            visibility=Visibility.PUBLIC,
            review_status=ReviewStatus.APPROVED,
        )
        for number, each in enumerate(documents)
    ]
    return Tool.objects.bulk_create(tools, batch_size=1000)


@pytest.mark.django_db(transaction=True)
def test_a_search_from_end_to_end(some_tools, alice, monkeypatch):
    documents, _ = catalogue(SOME)
    reference = BM25Okapi([f"{each.name} {each.description}".split() for each in documents])
    query = " ".join(documents[17].description.split()[:6])
    with following() as index:
        monkeypatch.setattr(service, "process_index", index)
        assert service.search(query, user=alice).found
        compare(
            f"search() among {SOME:,} tools",
            lambda: service.search(query, user=alice),
            Baseline("rank-bm25 alone", lambda: reference.get_scores(query.split()), 1.0),
            limit=5,
        )


@pytest.mark.django_db(transaction=True)
def test_hearing_of_one_change(some_tools):
    reader = Reader.of_all(Progress())
    numbers = iter(range(1_000_000))

    def change():
        Tool.objects.filter(pk=some_tools[5].pk).update(description=f"Changed {next(numbers)}")

    change()
    compare(
        f"read one change of {SOME:,} tools",
        reader.catch_up,
        Baseline("reading all anew", lambda: Reader.of_all(Progress()), 0.02),
        limit=10,
        before=change,
    )
