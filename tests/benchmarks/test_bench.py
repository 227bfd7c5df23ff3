"""`make bench`: what the spine costs, as ratios against named baselines in the same run."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from rank_bm25 import BM25Okapi

from registry.builtins import BUILTINS
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.search.bm25 import Postings, Scheme
from tests.benchmarks.measure import Baseline, compare
from tests.factories import make_builtin

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

TOOLS = 10_000


def corpus() -> list[list[str]]:
    words = [f"w{n}" for n in range(5_000)]
    weights = [1 / (n + 1) for n in range(len(words))]
    chance = random.Random(1)
    return [chance.choices(words, weights, k=40) for _ in range(TOOLS)]


def test_ranking_ten_thousand_tools():
    documents = corpus()
    reference = BM25Okapi(documents)
    postings = Postings(Scheme((1.0,), idf="okapi"))
    for terms in documents:
        postings.add([terms])
    query = documents[17][:6]
    counts = Counter(query)

    compare(
        f"rank {TOOLS:,} tools",
        lambda: postings.scores(postings.gains(counts)),
        Baseline("rank-bm25", lambda: reference.get_scores(query), 0.25),
    )


def test_a_call_of_a_built_in_through_the_door(alice):
    spec = load_spec(make_builtin("change_case"))
    context = CallContext(user=alice, caller=Caller.REST)
    arguments = {"text": "hello", "case": "upper"}

    def one_row():
        Invocation.objects.create(
            tool_id=spec.tool_id,
            tool_version=1,
            caller=Caller.REST,
            user=alice,
            outcome="succeeded",
            phase="execute",
            arguments=arguments,
            duration_ms=0,
        )
        return BUILTINS["change_case"].run(arguments)

    compare(
        "invoke() a built-in",
        lambda: invoke(spec, arguments, context),
        Baseline("the tool and its row, without the door", one_row, 5),
        limit=1.5,
    )
