from django.urls import path

from sequences.api import schema, views

urlpatterns = [
    path("sequences/schema/", schema.DefinitionSchemaView.as_view(), name="sequences-schema"),
    path("runs/", views.RunListView.as_view()),
    path("runs/<uuid:run_id>/", views.RunView.as_view(), name="run-detail"),
    path("runs/<uuid:run_id>/cancel/", views.RunCancelView.as_view()),
    path("runs/<uuid:run_id>/retry/", views.RunRetryView.as_view()),
]
