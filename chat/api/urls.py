from django.urls import path

from chat.api import (
    bench,
    branches,
    describing,
    experiments,
    promoting,
    queue,
    requests,
    steps,
    views,
)

urlpatterns = [
    path("sequences/describe/", describing.SequenceDescribeView.as_view()),
    path("conversations/", views.ConversationListView.as_view()),
    path("conversations/<uuid:conversation_id>/", views.ConversationView.as_view()),
    path("conversations/<uuid:conversation_id>/variables/", views.VariablesView.as_view()),
    path(
        "conversations/<uuid:conversation_id>/variables/<str:name>/", views.VariableView.as_view()
    ),
    path("conversations/<uuid:conversation_id>/artifacts/", views.ArtifactsView.as_view()),
    path("artifacts/<uuid:artifact_id>/", views.ArtifactView.as_view(), name="artifact-content"),
    path("conversations/<uuid:conversation_id>/messages/", views.MessagesView.as_view()),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/",
        views.TurnView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/events/",
        views.TurnEventsView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/steps/",
        steps.TurnStepsView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/stop/",
        views.TurnStopView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/continue/",
        requests.TurnContinueView.as_view(),
    ),
    path("conversations/<uuid:conversation_id>/requests/", requests.RequestsView.as_view()),
    path(
        "conversations/<uuid:conversation_id>/requests/<uuid:request_id>/",
        requests.RequestView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/promote/",
        promoting.TurnPromoteView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/regenerate/",
        branches.TurnRegenerateView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/edit/",
        branches.MessageEditView.as_view(),
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/show/",
        branches.TurnShowView.as_view(),
    ),
    path("conversations/<uuid:conversation_id>/queue/", queue.QueueView.as_view()),
    path("conversations/<uuid:conversation_id>/queue/send/", queue.QueueSendView.as_view()),
    path(
        "conversations/<uuid:conversation_id>/queue/<uuid:queued_id>/", queue.QueuedView.as_view()
    ),
    path("agents/<slug:slug>/bench/cases/", bench.BenchCasesView.as_view()),
    path("agents/<slug:slug>/bench/cases/import/", bench.BenchImportView.as_view()),
    path("agents/<slug:slug>/bench/cases/<uuid:bench_case_id>/", bench.BenchCaseView.as_view()),
    path("agents/<slug:slug>/bench/runs/", bench.BenchRunsView.as_view()),
    path("agents/<slug:slug>/bench/runs/<uuid:bench_run_id>/", bench.BenchRunView.as_view()),
    path(
        "agents/<slug:slug>/bench/runs/<uuid:bench_run_id>/stop/",
        bench.BenchRunStopView.as_view(),
    ),
    path("agents/<slug:slug>/experiments/", experiments.ExperimentListView.as_view()),
    path(
        "agents/<slug:slug>/experiments/<uuid:experiment_id>/",
        experiments.ExperimentView.as_view(),
    ),
    path(
        "agents/<slug:slug>/experiments/<uuid:experiment_id>/start/",
        experiments.ExperimentStartView.as_view(),
    ),
    path(
        "agents/<slug:slug>/experiments/<uuid:experiment_id>/end/",
        experiments.ExperimentEndView.as_view(),
    ),
    path(
        "agents/<slug:slug>/experiments/<uuid:experiment_id>/results/",
        experiments.ExperimentResultsView.as_view(),
    ),
]
