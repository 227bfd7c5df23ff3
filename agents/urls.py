from django.urls import path

from agents.views import access, agents, pins

app_name = "agents"
urlpatterns = [
    path("", agents.agent_list, name="agent_list"),
    path("new/", agents.agent_create, name="agent_create"),
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
    path("<slug:slug>/edit/", agents.agent_edit, name="agent_edit"),
    path("<slug:slug>/delete/", agents.agent_delete, name="agent_delete"),
    path("<slug:slug>/tools/", agents.agent_tools, name="agent_tools"),
    path("<slug:slug>/tools/<uuid:tool_id>/", pins.agent_tool_pin, name="agent_tool_pin"),
    path(
        "<slug:slug>/tools/<uuid:tool_id>/unlink/",
        agents.agent_tool_unlink,
        name="agent_tool_unlink",
    ),
]
