from django.urls import path

from agents.api import views

urlpatterns = [
    path("agents/", views.AgentListView.as_view()),
    path("agents/<slug:slug>/", views.AgentView.as_view()),
    path("agents/<slug:slug>/tools/", views.AgentToolsView.as_view()),
    path("agents/<slug:slug>/usage/", views.AgentUsageView.as_view()),
]
