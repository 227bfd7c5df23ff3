"""Numbers of use in words, as plots say them: `{% load figures %}`."""

from decimal import Decimal

from django import template

from config.lib import plots
from config.lib.paging import MOST_COUNTED

register = template.Library()

UNKNOWN = "–"
NBSP = "\u00a0"
FULL_UP_TO = 10_000


@register.filter
def duration(milliseconds: int | None) -> str:
    """Return a duration given in milliseconds."""
    return UNKNOWN if milliseconds is None else plots.lasting(milliseconds)


@register.filter
def dollars(amount: Decimal | None) -> str:
    """Return an amount of US dollars."""
    return UNKNOWN if amount is None else plots.priced(float(amount))


@register.filter
def short(count: int | None) -> str:
    """Return a count, a large one in few letters."""
    if count is None:
        return UNKNOWN
    return f"{count:,}" if count < FULL_UP_TO else plots.counted(count)


@register.filter
def capped(count: int) -> str:
    """Return a count that was taken no further than one more than `MOST_COUNTED`."""
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


@register.filter
def percent(share: float | None) -> str:
    """Return a share of 0 to 1 in percent."""
    if share is None:
        return UNKNOWN
    told = f"{100 * share:.1f}".removesuffix(".0")
    return f"{told}{NBSP}%"
