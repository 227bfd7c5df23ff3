from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class ConfigConfig(AppConfig):
    """Holds the management commands that compose all apps."""

    name = "config"
    default = True


class ConsoleConfig(admin_apps.AdminConfig):
    """The Django admin with the console of governance for its first page."""

    default = False
    default_site = "registry.console.site.ConsoleSite"
