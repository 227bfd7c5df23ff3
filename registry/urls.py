from django.urls import path

from registry.views import mcp, packages, tools

app_name = "registry"
urlpatterns = [
    path("tools/", tools.tool_list, name="tool_list"),
    path("tools/<uuid:tool_id>/", tools.tool_detail, name="tool_detail"),
    path("tools/<uuid:tool_id>/try/", tools.tool_try, name="tool_try"),
    path("packages/", packages.package_list, name="package_list"),
    path("packages/import/", packages.package_import, name="package_import"),
    path("packages/import/mcp/", mcp.mcp_import, name="mcp_import"),
    path("packages/<uuid:package_id>/", packages.package_detail, name="package_detail"),
    path("packages/<uuid:package_id>/refresh/", packages.package_refresh, name="package_refresh"),
    path(
        "packages/<uuid:package_id>/settings/", packages.package_settings, name="package_settings"
    ),
    path("jobs/<uuid:job_id>/", packages.job_detail, name="job_detail"),
    path("jobs/<uuid:job_id>/again/", packages.job_again, name="job_again"),
]
