from django.urls import path

from sequences.views import (
    drafts,
    hooks,
    mapping,
    palette,
    run_answers,
    run_compare,
    run_parts,
    runs,
    sequences,
    triggers,
    webhooks,
)

app_name = "sequences"

urlpatterns = [
    path("sequences/", sequences.sequence_list, name="sequence_list"),
    path("sequences/new", drafts.sequence_create, name="sequence_create"),
    path("sequences/palette", palette.step_palette, name="step_palette"),
    path("sequences/drafts/<uuid:draft_id>/edit", drafts.draft_edit, name="draft_edit"),
    path("sequences/drafts/<uuid:draft_id>/discard", drafts.draft_discard, name="draft_discard"),
    path("sequences/<uuid:tool_id>/edit", drafts.sequence_edit, name="sequence_edit"),
    path("sequences/drafts/<uuid:draft_id>/picker", mapping.picker, name="draft_picker"),
    path("sequences/drafts/<uuid:draft_id>/check", mapping.check, name="draft_check"),
    path("sequences/drafts/<uuid:draft_id>/checks", mapping.checks, name="draft_checks"),
    path("sequences/<uuid:tool_id>/picker", mapping.picker, name="sequence_picker"),
    path("sequences/<uuid:tool_id>/check", mapping.check, name="sequence_check"),
    path("sequences/<uuid:tool_id>/checks", mapping.checks, name="sequence_checks"),
    path("sequences/<uuid:tool_id>/delete", sequences.sequence_delete, name="sequence_delete"),
    path("sequences/<uuid:tool_id>/run", runs.run_start, name="run_start"),
    path("sequences/<uuid:tool_id>/triggers", triggers.trigger_list, name="trigger_list"),
    path("sequences/triggers/times", triggers.schedule_times, name="schedule_times"),
    path(
        "sequences/<uuid:tool_id>/triggers/schedules/new",
        triggers.schedule_create,
        name="schedule_create",
    ),
    path(
        "sequences/schedules/<uuid:schedule_id>/edit",
        triggers.schedule_edit,
        name="schedule_edit",
    ),
    path(
        "sequences/schedules/<uuid:schedule_id>/switch",
        triggers.schedule_switch,
        name="schedule_switch",
    ),
    path(
        "sequences/schedules/<uuid:schedule_id>/delete",
        triggers.schedule_delete,
        name="schedule_delete",
    ),
    path(
        "sequences/<uuid:tool_id>/triggers/webhooks/new",
        webhooks.webhook_create,
        name="webhook_create",
    ),
    path("sequences/webhooks/<uuid:webhook_id>/", webhooks.webhook_detail, name="webhook_detail"),
    path("sequences/webhooks/<uuid:webhook_id>/edit", webhooks.webhook_edit, name="webhook_edit"),
    path(
        "sequences/webhooks/<uuid:webhook_id>/switch",
        webhooks.webhook_switch,
        name="webhook_switch",
    ),
    path(
        "sequences/webhooks/<uuid:webhook_id>/secret",
        webhooks.webhook_rotate,
        name="webhook_rotate",
    ),
    path("sequences/webhooks/<uuid:webhook_id>/test", webhooks.webhook_test, name="webhook_test"),
    path(
        "sequences/webhooks/<uuid:webhook_id>/delete",
        webhooks.webhook_delete,
        name="webhook_delete",
    ),
    path("hooks/<uuid:webhook_id>/", hooks.hook, name="hook"),
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
