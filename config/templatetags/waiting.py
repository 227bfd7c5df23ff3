"""What waits for the person who looks: `{% load waiting %}`."""

from django import template
from django.contrib.auth.models import User

from sequences.run_filters import waiting_told

register = template.Library()


@register.simple_tag
def runs_waiting(user: User) -> int | None:
    """Return how many runs wait for a person; None where it was not counted a moment ago."""
    return waiting_told(user)
