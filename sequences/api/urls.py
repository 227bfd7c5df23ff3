from django.urls import path

from sequences.api import parts, views

urlpatterns = [
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
]
