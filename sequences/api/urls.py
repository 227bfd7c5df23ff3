from django.urls import path

from sequences.api import copies, views

urlpatterns = [
    path("sequences/import/", copies.SequenceImportView.as_view()),
    path("sequences/<uuid:tool_id>/export/", copies.SequenceExportView.as_view()),
    path("runs/", views.RunListView.as_view()),
    path("runs/<uuid:run_id>/", views.RunView.as_view(), name="run-detail"),
    path("runs/<uuid:run_id>/cancel/", views.RunCancelView.as_view()),
    path("runs/<uuid:run_id>/retry/", views.RunRetryView.as_view()),
]
