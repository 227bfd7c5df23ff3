from django.urls import path

from agents.api import approvals, copies, search, views

urlpatterns = [
    path("agents/", views.AgentListView.as_view()),
    path("agents/import/", copies.AgentImportView.as_view()),
    path("agents/<slug:slug>/export/", copies.AgentExportView.as_view()),
    path("agents/<slug:slug>/clone/", copies.AgentCloneView.as_view()),
    path("agents/<slug:slug>/", views.AgentView.as_view()),
    path("agents/<slug:slug>/tools/", views.AgentToolsView.as_view()),
    path("agents/<slug:slug>/approval-rules/", approvals.ApprovalRulesView.as_view()),
    path("agents/<slug:slug>/search-cases/", search.SearchCaseListView.as_view()),
    path("agents/<slug:slug>/search-cases/<uuid:case_id>/", search.SearchCaseView.as_view()),
    path("agents/<slug:slug>/search-evaluations/", search.SearchEvaluationListView.as_view()),
    path("agents/<slug:slug>/usage/", views.AgentUsageView.as_view()),
]
