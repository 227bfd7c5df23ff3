from django.apps import AppConfig
from django.db.backends.signals import connection_created


class ConfigConfig(AppConfig):
    """Holds the management commands that compose all apps."""

    name = "config"

    def ready(self) -> None:
        """Have every connection tell the audit who writes."""
        from config.lib.changes import tell_database

        connection_created.connect(
            lambda connection, **_: tell_database(connection),
            weak=False,
            dispatch_uid="config.tell_database",
        )
