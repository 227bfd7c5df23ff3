"""`/api/v1/drafts/{id}/tests/`, `…/outputs/` and `…/samples/`: a draft before it is published."""

from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, require_person, scopes_of
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry.models.invocation import Caller
from sequences import sample_inputs, selectors, testing
from sequences.api import draft_test_serializers as shapes
from sequences.api.drafts import READ_WRITE
from sequences.api.serializers import RunDetailSerializer, RunSerializer
from sequences.api.views import shown
from sequences.opened import opened_draft
from sequences.test_bench import Bench, bench_of, input_at_hand
from sequences.testing import Trial, latest_test


class DraftTestsView(APIView):
    """Tests of a draft."""

    required_scopes = {"GET": "tools:read", "POST": ("tools:run", "tools:write")}

    @extend_schema(operation_id="drafts_tests_list", responses=RunSerializer(many=True))
    def get(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """List your tests of a draft, the newest first."""
        bench, pages = bench_asked(request, draft_id), CursorPages()
        found = selectors.runs_of(request.user).filter(draft=bench.draft)
        page = pages.paginate_queryset(found, request, view=self)
        return pages.get_paginated_response(RunSerializer(page, many=True).data)

    @extend_schema(request=shapes.TestStartSerializer, responses={202: RunDetailSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Test a draft, or some of its steps: a run with real calls, and this token's scopes.

        Only the steps that are tested have to be finished. Follow it by `runs/{id}/`; `outputs/`
        then tells what each step gave.
        """
        body = shapes.TestStartSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked, bench = body.validated_data, bench_asked(request, draft_id)
        bench.require_schema()
        trial = Trial(
            draft=bench.draft,
            definition=bench.definition,
            input_schema=bench.schema,
            given=_given(request, bench, asked),
            first=asked["first"],
            last=asked["last"],
            caller=Caller.REST,
            scopes=scopes_of(request),
        )
        if "item" in asked:
            run = testing.item_start(trial, asked["item"], user=request.user)
        else:
            run = testing.trial_start(trial, user=request.user)
        told = shown(selectors.run_of(request.user, run.pk))
        place = {"Location": reverse("run-detail", args=[run.pk])}
        return Response(told, status=status.HTTP_202_ACCEPTED, headers=place)


class DraftOutputsView(APIView):
    """What the steps of a draft gave."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="drafts_outputs_list", responses=shapes.TestedStepSerializer(many=True)
    )
    def get(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """List the steps with what each gave when it was last tested, and whether that holds."""
        bench = bench_asked(request, draft_id)
        test = latest_test(bench.draft, request.user)
        return Response([shapes.TestedStepSerializer(step).data for step in bench.board(test)])


class DraftOutputView(APIView):
    """What one step of a draft gave."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="drafts_outputs_retrieve", responses=shapes.TestedStepSerializer)
    def get(self, request: SignedInApiRequest, draft_id: UUID, step_key: str) -> Response:
        """Show what a step gave when it was last tested."""
        return Response(_step(request, bench_asked(request, draft_id), step_key))

    @extend_schema(request=shapes.OutputWriteSerializer, responses=shapes.TestedStepSerializer)
    def put(self, request: SignedInApiRequest, draft_id: UUID, step_key: str) -> Response:
        """Say what a step gives, for the tests of the steps behind it."""
        body = shapes.OutputWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        bench, output = bench_asked(request, draft_id), body.validated_data["output"]
        testing.output_edit(bench.draft, bench.definition, step_key, output)
        return Response(_step(request, bench, step_key))

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, draft_id: UUID, step_key: str) -> Response:
        """Forget what a step gave."""
        bench = bench_asked(request, draft_id)
        _step(request, bench, step_key)
        testing.output_forget(bench.draft, step_key)
        return Response(status=status.HTTP_204_NO_CONTENT)


class DraftSamplesView(APIView):
    """Inputs to test a draft with."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="drafts_samples_list", responses=shapes.SampleSerializer(many=True))
    def get(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """List the samples of a draft by name; there are 50 at most."""
        bench = bench_asked(request, draft_id)
        found = bench.draft.samples.order_by("name", "pk")
        return Response(shapes.SampleSerializer(found, many=True).data)

    @extend_schema(request=shapes.SampleWriteSerializer, responses={201: shapes.SampleSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Keep an input under a name; one of the same name is replaced."""
        body = shapes.SampleWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked, bench = body.validated_data, bench_asked(request, draft_id)
        sample = sample_inputs.sample_save(bench.draft, asked["name"], asked["input"])
        return Response(shapes.SampleSerializer(sample).data, status=status.HTTP_201_CREATED)


class DraftSampleView(APIView):
    """One sample of a draft."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="drafts_samples_retrieve", responses=shapes.SampleSerializer)
    def get(self, request: SignedInApiRequest, draft_id: UUID, sample_id: int) -> Response:
        """Show a sample."""
        sample = sample_inputs.sample_of(bench_asked(request, draft_id).draft, sample_id)
        return Response(shapes.SampleSerializer(sample).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, draft_id: UUID, sample_id: int) -> Response:
        """Take a sample out."""
        draft = bench_asked(request, draft_id).draft
        sample_inputs.sample_delete(draft, sample_inputs.sample_of(draft, sample_id).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


def bench_asked(request: SignedInApiRequest, draft_id: UUID) -> Bench:
    """Return the draft that a request names, as it is tested: with values of its person's."""
    require_person(request, "An agent's own token neither tests drafts nor sees their tests.")
    return bench_of(opened_draft(request.user, draft_id), user=request.user)


def _step(request: SignedInApiRequest, bench: Bench, key: str) -> JsonObject:
    step = bench.step(key, latest_test(bench.draft, request.user))
    told: JsonObject = shapes.TestedStepSerializer(step).data
    return told


def _given(request: SignedInApiRequest, bench: Bench, asked: JsonObject) -> JsonObject:
    if "sample" in asked:
        given: JsonObject = sample_inputs.sample_of(bench.draft, asked["sample"]).input
        return given
    sent: JsonObject | None = asked.get("input")
    return input_at_hand(bench, user=request.user) if sent is None else sent
