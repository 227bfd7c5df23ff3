from django.urls import path

from registry.api import (
    deprecation,
    impact,
    invocations,
    manifests,
    packages,
    proposals,
    tools,
    versions,
)

urlpatterns = [
    path("packages/", packages.PackageListView.as_view()),
    path("packages/validate/", manifests.ManifestValidateView.as_view()),
    path("packages/<uuid:package_id>/", packages.PackageView.as_view()),
    path("packages/<uuid:package_id>/repair/", packages.PackageRepairView.as_view()),
    path("packages/<uuid:package_id>/check/", packages.PackageCheckView.as_view()),
    path("packages/<uuid:package_id>/refresh/", packages.PackageRefreshView.as_view()),
    path("packages/<uuid:package_id>/impact/", impact.PackageImpactView.as_view()),
    path("jobs/<uuid:job_id>/", packages.JobView.as_view()),
    path("proposals/", proposals.ProposalListView.as_view()),
    path("proposals/<uuid:proposal_id>/", proposals.ProposalView.as_view()),
    path("proposals/<uuid:proposal_id>/approve/", proposals.ProposalApproveView.as_view()),
    path("proposals/<uuid:proposal_id>/reject/", proposals.ProposalRejectView.as_view()),
    path("proposals/<uuid:proposal_id>/quarantine/", proposals.ProposalQuarantineView.as_view()),
    path("invocations/<uuid:invocation_id>/", invocations.InvocationView.as_view()),
    path("tools/", tools.ToolListView.as_view()),
    path("tools/search/", tools.ToolSearchView.as_view()),
    path("tools/<uuid:tool_id>/", tools.ToolView.as_view()),
    path("tools/<uuid:tool_id>/impact/", impact.ToolImpactView.as_view()),
    path("tools/<uuid:tool_id>/deprecation/", deprecation.ToolDeprecationView.as_view()),
    path("tools/<uuid:tool_id>/run/", tools.ToolRunView.as_view()),
    path("tools/<uuid:tool_id>/versions/", tools.ToolVersionsView.as_view()),
    path(
        "tools/<uuid:tool_id>/versions/<int:before>/diff/<int:after>/",
        versions.VersionDiffView.as_view(),
    ),
    path(
        "tools/<uuid:tool_id>/versions/<int:number>/restore/",
        tools.VersionRestoreView.as_view(),
    ),
]
