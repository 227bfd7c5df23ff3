from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.db.backends.signals import connection_created


class ConfigConfig(AppConfig):
    """Holds the management commands that compose all apps."""

    name = "config"
    default = True

    def ready(self) -> None:
        """Have every connection tell the audit who writes."""
        from config.lib.changes import tell_database

        connection_created.connect(
            lambda connection, **_: tell_database(connection),
            weak=False,
            dispatch_uid="config.tell_database",
        )


class ConsoleConfig(admin_apps.AdminConfig):
    """The Django admin with the console of governance for its first page."""

    default = False
    default_site = "registry.console.site.ConsoleSite"
