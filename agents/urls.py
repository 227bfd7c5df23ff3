from django.urls import path

from agents.views import access, agents, approvals, copies, experiments, pins, search, usage

app_name = "agents"
urlpatterns = [
    path("", agents.agent_list, name="agent_list"),
    path("new/", agents.agent_create, name="agent_create"),
    path("import/", copies.agent_import, name="agent_import"),
    path("credentials/", access.credential_list, name="credential_list"),
    path(
        "credentials/<uuid:credential_id>/delete/",
        access.credential_delete,
        name="credential_delete",
    ),
    path("tokens/", access.token_list, name="token_list"),
    path("tokens/<uuid:token_id>/revoke/", access.token_revoke, name="token_revoke"),
    path("using/<uuid:tool_id>/", agents.agents_using_tool, name="agents_using_tool"),
    path("<slug:slug>/", agents.agent_detail, name="agent_detail"),
    path("<slug:slug>/usage/", usage.agent_usage, name="agent_usage"),
    path("<slug:slug>/edit/", agents.agent_edit, name="agent_edit"),
    path("<slug:slug>/delete/", agents.agent_delete, name="agent_delete"),
    path("<slug:slug>/scopes/", agents.agent_grant, name="agent_grant"),
    path("<slug:slug>/tools/", agents.agent_tools, name="agent_tools"),
    path("<slug:slug>/export/", copies.agent_export, name="agent_export"),
    path("<slug:slug>/clone/", copies.agent_clone, name="agent_clone"),
    path("<slug:slug>/approvals/", approvals.agent_approvals, name="agent_approvals"),
    path("<slug:slug>/approvals/links/", approvals.link_approvals, name="link_approvals"),
    path("<slug:slug>/approvals/rules/", approvals.rule_create, name="rule_create"),
    path("<slug:slug>/approvals/rules/preview/", approvals.rule_preview, name="rule_preview"),
    path(
        "<slug:slug>/approvals/rules/<uuid:rule_id>/delete/",
        approvals.rule_delete,
        name="rule_delete",
    ),
    path("<slug:slug>/experiments/", experiments.experiment_list, name="experiment_list"),
    path("<slug:slug>/experiments/new/", experiments.experiment_create, name="experiment_create"),
    path(
        "<slug:slug>/experiments/<uuid:experiment_id>/start/",
        experiments.experiment_start,
        name="experiment_start",
    ),
    path(
        "<slug:slug>/experiments/<uuid:experiment_id>/end/",
        experiments.experiment_end,
        name="experiment_end",
    ),
    path(
        "<slug:slug>/experiments/<uuid:experiment_id>/delete/",
        experiments.experiment_delete,
        name="experiment_delete",
    ),
    path("<slug:slug>/search/", search.search_list, name="search_list"),
    path("<slug:slug>/search/new/", search.case_create, name="search_case_create"),
    path("<slug:slug>/search/measure/", search.search_measure, name="search_measure"),
    path("<slug:slug>/search/<uuid:case_id>/", search.case_edit, name="search_case_edit"),
    path(
        "<slug:slug>/search/<uuid:case_id>/delete/", search.case_delete, name="search_case_delete"
    ),
    path("<slug:slug>/tools/<uuid:tool_id>/", pins.agent_tool_pin, name="agent_tool_pin"),
    path(
        "<slug:slug>/tools/<uuid:tool_id>/unlink/",
        agents.agent_tool_unlink,
        name="agent_tool_unlink",
    ),
]
