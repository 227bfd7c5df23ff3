from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        """Keep the groups of governance and their permissions up to date."""
        from registry.roles import make_roles  # its models exist only now

        post_migrate.connect(make_roles, dispatch_uid="registry.make_roles")
