from django.urls import path

from registry.views import (
    api_tools,
    audit,
    deprecation,
    event_subscriptions,
    impact,
    invocations,
    manifests,
    mcp,
    mending,
    network,
    openapi,
    packages,
    reviews,
    sandbox,
    similar,
    stopping,
    sync,
    tools,
    uploads,
    usage,
    versions,
)

app_name = "registry"
urlpatterns = [
    path("tools/", tools.tool_list, name="tool_list"),
    path("tools/new/api", api_tools.api_tool_create, name="api_tool_create"),
    path("tools/<uuid:tool_id>/edit/api", api_tools.api_tool_edit, name="api_tool_edit"),
    path("tools/<uuid:tool_id>/delete", api_tools.api_tool_delete, name="api_tool_delete"),
    path("tools/<uuid:tool_id>/", tools.tool_detail, name="tool_detail"),
    path("tools/<uuid:tool_id>/impact/", impact.tool_impact, name="tool_impact"),
    path("tools/<uuid:tool_id>/similar/", similar.tool_similar, name="tool_similar"),
    path("tools/<uuid:tool_id>/try/", tools.tool_try, name="tool_try"),
    path("tools/<uuid:tool_id>/stop/", stopping.tool_stop_view, name="tool_stop"),
    path("tools/<uuid:tool_id>/resume/", stopping.tool_resume_view, name="tool_resume"),
    path("tools/<uuid:tool_id>/governance/", stopping.tool_governance, name="tool_governance"),
    path("tools/<uuid:tool_id>/usage/", usage.tool_usage, name="tool_usage"),
    path(
        "event-subscriptions/",
        event_subscriptions.event_subscription_list,
        name="event_subscription_list",
    ),
    path(
        "event-subscriptions/new/",
        event_subscriptions.event_subscription_create,
        name="event_subscription_create",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/",
        event_subscriptions.event_subscription,
        name="event_subscription",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/edit/",
        event_subscriptions.event_subscription_edit,
        name="event_subscription_edit",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/switch/",
        event_subscriptions.event_subscription_switch,
        name="event_subscription_switch",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/rotate/",
        event_subscriptions.event_subscription_rotate,
        name="event_subscription_rotate",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/test/",
        event_subscriptions.event_subscription_test,
        name="event_subscription_test",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/delete/",
        event_subscriptions.event_subscription_delete,
        name="event_subscription_delete",
    ),
    path(
        "event-subscriptions/<uuid:subscription_id>/deliveries/<uuid:delivery_id>/again/",
        event_subscriptions.event_redeliver,
        name="event_redeliver",
    ),
    path("audit/", audit.audit_list, name="audit_list"),
    path("audit/export/", audit.audit_export, name="audit_export"),
    path("audit/<int:event_id>/", audit.audit_event, name="audit_event"),
    path("invocations/", invocations.invocation_list, name="invocation_list"),
    path("invocations/export/", invocations.invocation_export, name="invocation_export"),
    path(
        "tools/<uuid:tool_id>/versions/<int:number>/restore/",
        versions.version_restore_page,
        name="version_restore",
    ),
    path(
        "tools/<uuid:tool_id>/deprecation/", deprecation.tool_deprecation, name="tool_deprecation"
    ),
    path("tools/<uuid:tool_id>/versions/", versions.version_list, name="version_list"),
    path(
        "tools/<uuid:tool_id>/versions/<int:before>/diff/<int:after>/",
        versions.version_diff,
        name="version_diff",
    ),
    path(
        "invocations/<uuid:invocation_id>/",
        invocations.invocation_detail,
        name="invocation_detail",
    ),
    path("packages/", packages.package_list, name="package_list"),
    path("packages/import/", packages.package_import, name="package_import"),
    path("packages/import/mcp/", mcp.mcp_import, name="mcp_import"),
    path("packages/import/upload/", uploads.package_upload, name="package_upload"),
    path("packages/sync/", sync.sync_status, name="sync_status"),
    path("packages/sync/<uuid:feed_id>/ask/", sync.sync_ask, name="sync_ask"),
    path("packages/sync/runs/<uuid:sync_run_id>/", sync.sync_run, name="sync_run"),
    path("packages/validate/", manifests.manifest_validate, name="manifest_validate"),
    path("packages/import/openapi/", openapi.openapi_document, name="openapi_document"),
    path(
        "packages/import/openapi/<uuid:document_id>/",
        openapi.openapi_operations,
        name="openapi_operations",
    ),
    path("packages/<uuid:package_id>/", packages.package_detail, name="package_detail"),
    path("packages/<uuid:package_id>/stop/", stopping.package_stop_view, name="package_stop"),
    path("packages/<uuid:package_id>/resume/", stopping.package_resume_view, name="package_resume"),
    path("packages/<uuid:package_id>/impact/", impact.package_impact, name="package_impact"),
    path("packages/<uuid:package_id>/hosts/", network.package_hosts, name="package_hosts"),
    path("packages/<uuid:package_id>/refresh/", packages.package_refresh, name="package_refresh"),
    path("sandbox/", sandbox.sandbox_status, name="sandbox_status"),
    path("packages/<uuid:package_id>/repair/", mending.package_repair_view, name="package_repair"),
    path("packages/<uuid:package_id>/env/", mending.package_env, name="package_env"),
    path("packages/<uuid:package_id>/check/", mending.package_check, name="package_check"),
    path(
        "packages/<uuid:package_id>/settings/", packages.package_settings, name="package_settings"
    ),
    *(
        path(
            f"proposals/<uuid:proposal_id>/{decision}/",
            reviews.proposal_decide,
            {"decision": decision},
            name=f"proposal_{decision}",
        )
        for decision in ("approve", "reject", "quarantine")
    ),
    path("jobs/<uuid:job_id>/", packages.job_detail, name="job_detail"),
    path("jobs/<uuid:job_id>/again/", packages.job_again, name="job_again"),
]
