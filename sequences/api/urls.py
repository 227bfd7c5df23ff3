from django.urls import path

from sequences.api import copies, parts, schedules, schema, views, webhooks

urlpatterns = [
    path("sequences/schema/", schema.DefinitionSchemaView.as_view(), name="sequences-schema"),
    path("sequences/import/", copies.SequenceImportView.as_view()),
    path("sequences/<uuid:tool_id>/export/", copies.SequenceExportView.as_view()),
    path("runs/", views.RunListView.as_view()),
    path("runs/<uuid:run_id>/", views.RunView.as_view(), name="run-detail"),
    path("runs/<uuid:run_id>/cancel/", views.RunCancelView.as_view()),
    path("runs/<uuid:run_id>/retry/", views.RunRetryView.as_view()),
    path("runs/<uuid:run_id>/events/", parts.RunEventsView.as_view()),
    path("runs/<uuid:run_id>/steps/<uuid:step_id>/", parts.RunStepView.as_view()),
    path("runs/<uuid:run_id>/steps/<uuid:step_id>/resolve/", parts.StepResolveView.as_view()),
    path("runs/<uuid:run_id>/requests/<uuid:ask_id>/", parts.RunRequestView.as_view()),
    path(
        "runs/<uuid:run_id>/artifacts/<uuid:file_id>/",
        parts.RunArtifactView.as_view(),
        name="run-artifact",
    ),
    path("sequences/<uuid:tool_id>/schedules/", schedules.ScheduleListView.as_view()),
    path("schedules/<uuid:schedule_id>/", schedules.ScheduleView.as_view()),
    path("sequences/<uuid:tool_id>/webhooks/", webhooks.WebhookListView.as_view()),
    path("webhooks/<uuid:webhook_id>/", webhooks.WebhookView.as_view()),
    path("webhooks/<uuid:webhook_id>/secret/", webhooks.WebhookSecretView.as_view()),
    path("webhooks/<uuid:webhook_id>/test/", webhooks.WebhookTestView.as_view()),
]
