from django.urls import path

from sequences.views import builder, run_answers, run_compare, run_parts, runs, sequences

app_name = "sequences"

urlpatterns = [
    path("sequences/", sequences.sequence_list, name="sequence_list"),
    path("sequences/new", builder.sequence_create, name="sequence_create"),
    path("sequences/<uuid:tool_id>/edit", builder.sequence_edit, name="sequence_edit"),
    path("sequences/<uuid:tool_id>/delete", sequences.sequence_delete, name="sequence_delete"),
    path("sequences/<uuid:tool_id>/run", runs.run_start, name="run_start"),
    path("runs/", runs.run_list, name="run_list"),
    path("runs/compare", run_compare.run_choose, name="run_choose"),
    path("runs/waiting", run_parts.run_badge, name="run_badge"),
    path("runs/<uuid:run_id>/", runs.run_detail, name="run_detail"),
    path("runs/<uuid:run_id>/cancel", runs.run_cancel, name="run_cancel"),
    path("runs/<uuid:run_id>/retry", runs.run_retry, name="run_retry"),
    path("runs/<uuid:run_id>/events", run_parts.run_events, name="run_events"),
    path("runs/<uuid:run_id>/input.json", run_parts.run_input, name="run_input"),
    path("runs/<uuid:run_id>/output.json", run_parts.run_output, name="run_output"),
    path(
        "runs/<uuid:run_id>/compare/<uuid:other_id>",
        run_compare.run_compare,
        name="run_compare",
    ),
    path("runs/<uuid:run_id>/steps/<uuid:step_id>/", run_parts.step_detail, name="step_detail"),
    path(
        "runs/<uuid:run_id>/steps/<uuid:step_id>/input.json",
        run_parts.step_input,
        name="step_input",
    ),
    path(
        "runs/<uuid:run_id>/steps/<uuid:step_id>/output.json",
        run_parts.step_output,
        name="step_output",
    ),
    path(
        "runs/<uuid:run_id>/steps/<uuid:step_id>/resolve", run_answers.resolve, name="step_resolve"
    ),
    path("runs/<uuid:run_id>/requests/<uuid:ask_id>/", run_answers.answer, name="request_answer"),
    path("runs/<uuid:run_id>/files/<uuid:file_id>", run_parts.run_artifact, name="run_artifact"),
]
