"""Under `/o/` and `/.well-known/`; the names are those that the toolkit looks up."""

from django.urls import path

from agents.oauth import consent, metadata, registration, tokens

app_name = "oauth2_provider"
urlpatterns = [
    path("o/authorize", consent.ConsentView.as_view(), name="authorize"),
    path("o/token", tokens.TokenView.as_view(), name="token"),
    path("o/revoke_token", tokens.RevokeView.as_view(), name="revoke-token"),
    path("o/introspect", tokens.IntrospectView.as_view(), name="introspect"),
    path("o/register", registration.RegisterView.as_view(), name="dcr-register"),
    path(
        "o/register/<slug:client_id>",
        registration.RegisteredView.as_view(),
        name="dcr-register-management",
    ),
    path(
        ".well-known/oauth-authorization-server",
        metadata.ServerView.as_view(),
        name="oauth-server-metadata",
    ),
    path(
        ".well-known/oauth-protected-resource",
        metadata.ResourceView.as_view(),
        name="oauth-resource-metadata",
    ),
    path(
        ".well-known/oauth-protected-resource/<path:resource_path>",
        metadata.ResourceView.as_view(),
        name="oauth-resource-metadata-path",
    ),
]
