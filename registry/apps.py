from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        """After a migration, see that the groups and policies of governance are there."""
        from registry.models.retention_policy import make_policies  # models exist only now
        from registry.roles import make_roles

        post_migrate.connect(make_roles, dispatch_uid="registry.make_roles")
        post_migrate.connect(make_policies, sender=self, dispatch_uid="registry.make_policies")
