"""The REST API, its OpenAPI document and the page that shows it."""

from django.urls import include, path
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="api_schema"),
    path(
        "docs/",
        require_safe(SpectacularSwaggerSplitView.as_view(url_name="api_schema")),
        name="api_docs",
    ),
    path("v1/", include("registry.api.urls")),
    path("v1/", include("agents.api.urls")),
    path("v1/", include("sequences.api.urls")),
    path("v1/", include("chat.api.urls")),
]
