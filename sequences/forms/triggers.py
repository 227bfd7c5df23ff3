"""What people fill in about schedules and webhooks."""

import json
from typing import Any

from django import forms

from config.lib.types import JsonObject
from sequences.models import Schedule, Webhook
from sequences.models.webhook import Signing
from sequences.triggers.cron import LONGEST_CRON, zone_names
from sequences.triggers.mapped import Mapped
from sequences.triggers.schedules import LONGEST_NAME

REPEATS = (
    ("hourly", "Every hour"),
    ("daily", "Every day"),
    ("weekdays", "Monday to Friday"),
    ("weekly", "Every week"),
    ("monthly", "Every month"),
    ("cron", "As a cron expression says"),
)
NEEDED = {"weekly": {"weekday", "at"}, "monthly": {"day", "at"}, "cron": {"cron"}}
"""How often → the fields that say when; for all others that is the time of day."""

WEEKDAYS = (
    *(("1", "Monday"), ("2", "Tuesday"), ("3", "Wednesday"), ("4", "Thursday")),
    *(("5", "Friday"), ("6", "Saturday"), ("0", "Sunday")),
)


class ScheduleForm(forms.Form):
    """When a sequence runs; its input has a form of its own, made of its schema."""

    use_required_attribute = False

    name = forms.CharField(
        required=False,
        max_length=LONGEST_NAME,
        help_text="To tell it from the others, such as “Monday report”.",
    )
    repeat = forms.ChoiceField(label="How often", choices=REPEATS, initial="daily")
    weekday = forms.ChoiceField(label="On", choices=WEEKDAYS, initial="1")
    day = forms.IntegerField(
        label="Day of the month",
        min_value=1,
        max_value=31,
        initial=1,
        help_text="In a month that has no such day it does not run.",
    )
    at = forms.TimeField(
        label="At",
        initial="09:00",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        input_formats=["%H:%M", "%H:%M:%S"],
    )
    cron = forms.CharField(
        label="Cron expression",
        max_length=LONGEST_CRON,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text="Five fields: minute, hour, day of the month, month, day of the week. "
        "*/15 * * * * is every 15 minutes.",
    )
    timezone = forms.CharField(
        label="Time zone",
        max_length=64,
        initial="UTC",
        widget=forms.TextInput(attrs={"list": "time-zones", "autocomplete": "off"}),
        help_text="Times follow it through summer and winter.",
    )

    def __init__(self, data: Any = None, *, schedule: Schedule | None = None) -> None:
        initial = initial_of(schedule) if schedule else {}
        super().__init__(data, prefix="schedule", initial=initial, label_suffix="")

    @property
    def zones(self) -> tuple[str, ...]:
        """Return the time zones that the field suggests."""
        return zone_names()

    def clean(self) -> dict[str, Any]:
        """Overlook what the chosen repetition does not need."""
        cleaned = super().clean() or {}
        needed = NEEDED.get(str(cleaned.get("repeat")), {"at"})
        for name in {"weekday", "day", "at", "cron"} - needed:
            self.errors.pop(name, None)
        return cleaned

    @property
    def cron_text(self) -> str:
        """Return the cron expression of a form that is valid."""
        cleaned = self.cleaned_data
        if cleaned["repeat"] == "cron":
            return str(cleaned["cron"])
        minute, hour = cleaned["at"].minute, cleaned["at"].hour
        return {
            "hourly": f"{minute} * * * *",
            "daily": f"{minute} {hour} * * *",
            "weekdays": f"{minute} {hour} * * 1-5",
            "weekly": f"{minute} {hour} * * {cleaned['weekday']}",
            "monthly": f"{minute} {hour} {cleaned['day']} * *",
        }[cleaned["repeat"]]


def initial_of(schedule: Schedule) -> JsonObject:
    """Return what the form of a schedule holds: one of the simple repetitions, or its cron."""
    told = {"name": schedule.name, "cron": schedule.cron, "timezone": schedule.timezone}
    minute, hour, day, month, weekday = schedule.cron.split()
    numbers = {name for name, text in (("m", minute), ("h", hour), ("d", day)) if text.isdigit()}
    if month != "*" or "m" not in numbers:
        return {**told, "repeat": "cron"}
    if (hour, day, weekday) == ("*", "*", "*"):
        return {**told, "repeat": "hourly", "at": f"00:{int(minute):02}"}
    at = f"{int(hour):02}:{int(minute):02}" if "h" in numbers else ""
    repeat = {"*": "daily", "1-5": "weekdays"}.get(weekday)
    if at and day == "*" and repeat:
        return {**told, "repeat": repeat, "at": at}
    if at and day == "*" and weekday in dict(WEEKDAYS):
        return {**told, "repeat": "weekly", "at": at, "weekday": weekday}
    if at and "d" in numbers and weekday == "*":
        return {**told, "repeat": "monthly", "at": at, "day": int(day)}
    return {**told, "repeat": "cron"}


class MappingField(forms.CharField):
    """A JSON object of expressions, as text."""

    widget = forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "code-input"})

    def clean(self, value: str | None) -> Mapped | None:
        """Return the object, or None for a blank field; the service checks what it holds."""
        text = str(super().clean(value) or "").strip()
        if not text:
            return None
        try:
            found: Mapped = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise forms.ValidationError(f"This is not valid JSON: {problem}.") from None
        return found


class WebhookForm(forms.Form):
    """A webhook; how it is signed is chosen once."""

    use_required_attribute = False

    name = forms.CharField(
        required=False,
        max_length=LONGEST_NAME,
        help_text="After the program that will call it.",
    )
    signing = forms.ChoiceField(
        label="How messages are signed",
        choices=(
            (Signing.STANDARD.value, "Standard Webhooks: name, time and signature in headers"),
            (Signing.GITHUB.value, "As GitHub does: X-Hub-Signature-256"),
        ),
        initial=Signing.STANDARD.value,
        widget=forms.RadioSelect,
        help_text="Standard Webhooks also refuses a message that is older than five minutes.",
    )
    input_mapping = MappingField(
        label="Where its input comes from",
        required=False,
        max_length=20_000,
        help_text="Empty: the message itself is the input. Else a JSON object with an expression "
        '(JMESPath) for each input, over body and headers: {"title": "body.issue.title"}.',
    )

    def __init__(self, data: Any = None, *, webhook: Webhook | None = None) -> None:
        initial: JsonObject = {}
        if webhook:
            mapping = webhook.input_mapping
            text = json.dumps(mapping, ensure_ascii=False, indent=2) if mapping else ""
            initial = {"name": webhook.name, "input_mapping": text}
        super().__init__(data, initial=initial, label_suffix="")
        if webhook:
            del self.fields["signing"]
