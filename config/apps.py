from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Holds the management commands that compose all apps."""

    name = "config"
