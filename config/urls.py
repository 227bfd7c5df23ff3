"""Every address of the product."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from agents.views import connect
from agents.views.discovery import discovery
from agents.views.usage import usage_overview
from chat.views.describing import sequence_describe
from config import views
from registry.views.metrics import metrics

handler404 = views.not_found

urlpatterns = [
    path("", views.home, name="home"),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("", include("agents.oauth.urls")),
    path("admin/", admin.site.urls),
    path("api/", include("config.api_urls")),
    path("search/palette/", views.palette, name="palette"),
    path("usage/", usage_overview, name="usage"),
    path("discovery/", discovery, name="agent_discovery"),
    path("connect/", connect.connect, name="connect"),
    path("connect/token/", connect.connect_token, name="connect_token"),
    path("connect/test/", connect.connect_test, name="connect_test"),
    path("search/", include("agents.search_urls")),
    path("", include("registry.urls")),
    path("agents/", include("agents.urls")),
    path("agents/<slug:slug>/experiments/", include("chat.experiment_urls")),
    path("agents/<slug:slug>/bench/", include("chat.bench_urls")),
    path("sequences/describe", sequence_describe, name="sequence_describe"),
    path("", include("sequences.urls")),
    path("chat/", include("chat.urls")),
]
