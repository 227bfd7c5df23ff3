from django.urls import path

from sequences.views import drafts, palette, runs, sequences, testing

app_name = "sequences"

urlpatterns = [
    path("sequences/", sequences.sequence_list, name="sequence_list"),
    path("sequences/new", drafts.sequence_create, name="sequence_create"),
    path("sequences/palette", palette.step_palette, name="step_palette"),
    path("sequences/drafts/<uuid:draft_id>/edit", drafts.draft_edit, name="draft_edit"),
    path("sequences/drafts/<uuid:draft_id>/test", testing.draft_test, name="draft_test"),
    path("sequences/<uuid:tool_id>/test", testing.sequence_test, name="sequence_test"),
    path("sequences/drafts/<uuid:draft_id>/discard", drafts.draft_discard, name="draft_discard"),
    path("sequences/<uuid:tool_id>/edit", drafts.sequence_edit, name="sequence_edit"),
    path("sequences/<uuid:tool_id>/delete", sequences.sequence_delete, name="sequence_delete"),
    path("sequences/<uuid:tool_id>/run", runs.run_start, name="run_start"),
    path("runs/", runs.run_list, name="run_list"),
    path("runs/<uuid:run_id>/", runs.run_detail, name="run_detail"),
    path("runs/<uuid:run_id>/cancel", runs.run_cancel, name="run_cancel"),
    path("runs/<uuid:run_id>/retry", runs.run_retry, name="run_retry"),
]
