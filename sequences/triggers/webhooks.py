"""Make, change and delete webhooks."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from agents.credentials import revealed
from config.lib.errors import InvalidInput
from config.lib.sealing import seal
from config.lib.types import JsonObject
from registry.models import Tool
from sequences.models import Webhook
from sequences.models.webhook import Signing
from sequences.triggers.mapped import Mapped, checked_mapping
from sequences.triggers.schedules import named, require_room
from sequences.triggers.signatures import new_secret
from sequences.triggers.standing import require_startable, require_usable


@dataclass(frozen=True, kw_only=True)
class WebhookPlan:
    """What a person asks for; how it is signed is said once, when it is made."""

    name: str = ""
    input_mapping: Mapped | None = None
    enabled: bool = True


def webhook_create(
    user: User,
    tool: Tool,
    plan: WebhookPlan,
    *,
    signing: str = Signing.STANDARD,
    scopes: Collection[str] | None = None,
) -> tuple[Webhook, str]:
    """Make a webhook and return it with its secret, which is not shown again.

    Raises InvalidInput with `extra.problems` by field, NotAllowed and Conflict.
    """
    require_usable(user, tool)
    require_room(Webhook.objects.filter(owner=user, tool=tool).count(), "webhooks")
    if signing not in Signing.values:
        raise InvalidInput(
            "This way of signing is not known.",
            f"Choose one of: {', '.join(Signing.values)}.",
            problems=[{"path": "$.signing", "message": "is not known"}],
        )
    secret = new_secret(signing)
    webhook = Webhook(tool=tool, owner=user, signing=signing, secret=seal(secret))
    _take(webhook, plan, scopes)
    webhook.save(force_insert=True)
    return webhook, secret


def webhook_change(
    webhook: Webhook, plan: WebhookPlan, *, scopes: Collection[str] | None = None
) -> Webhook:
    """Change a webhook; from now on it has the rights of whoever changes it.

    Raises what `webhook_create` does.
    """
    if plan.enabled:
        require_startable(webhook)
    taken = _take(webhook, plan, scopes)
    webhook.last_error = None
    webhook.save(update_fields=[*taken, "last_error"])
    return webhook


def webhook_switch(
    webhook: Webhook, *, enabled: bool, scopes: Collection[str] | None = None
) -> Webhook:
    """Switch a webhook on or off."""
    if not enabled:
        Webhook.objects.filter(pk=webhook.pk).update(enabled=False)
        webhook.enabled = False
        return webhook
    return webhook_change(webhook, plan_of(webhook, enabled=True), scopes=scopes)


def webhook_rotate(webhook: Webhook) -> str:
    """Give a webhook another secret and return it; the old one is worth nothing from now on."""
    secret = new_secret(webhook.signing)
    webhook.secret, webhook.secret_set_at = seal(secret), timezone.now()
    webhook.save(update_fields=["secret", "secret_set_at"])
    return secret


def webhook_delete(webhook: Webhook) -> None:
    """Delete a webhook; the runs that it started are kept."""
    webhook.delete()


def plan_of(webhook: Webhook, **changes: Any) -> WebhookPlan:
    """Return what a webhook is, with changes."""
    names = ("name", "input_mapping", "enabled")
    return WebhookPlan(**{**{name: getattr(webhook, name) for name in names}, **changes})


def secret_of(webhook: Webhook) -> str:
    """Open a webhook's secret, or raise CredentialUnreadable."""
    return revealed("The webhook's secret", webhook.secret)


def _take(webhook: Webhook, plan: WebhookPlan, scopes: Collection[str] | None) -> list[str]:
    """Write a plan into a row that is not saved yet; return the names of the fields."""
    problems: list[JsonObject] = []
    name = named(plan.name, problems)
    if problems:
        raise InvalidInput("The name is too long.", "Shorten it.", problems=problems)
    values = {
        "name": name,
        "input_mapping": checked_mapping(plan.input_mapping, webhook.tool.input_schema),
        "scopes": None if scopes is None else sorted(scopes),
        "enabled": plan.enabled,
    }
    for field, value in values.items():
        setattr(webhook, field, value)
    return list(values)
