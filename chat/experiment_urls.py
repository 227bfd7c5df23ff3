from django.urls import path

from chat.views import experiments

app_name = "experiments"
urlpatterns = [
    path("<uuid:experiment_id>/", experiments.experiment_detail, name="detail"),
    path(
        "<uuid:experiment_id>/conversations.csv", experiments.experiment_rows, name="conversations"
    ),
    path("<uuid:experiment_id>/results.csv", experiments.experiment_summary, name="summary"),
]
