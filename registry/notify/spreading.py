"""Make a delivery of each event for each subscription that it is for."""

from uuid import UUID

from django.db import transaction

from registry.models import EventDelivery, EventSubscription, Package, PendingEvent, Tool
from registry.notify.hearing import hearers
from registry.notify.payloads import event_id, payload_of

BATCH = 100


def events_spread() -> int:
    """Turn up to a batch of events into deliveries; return how many events there were.

    Workers that do this at once share the events out. An event goes with the deliveries that it
    became, in one transaction: none is lost, none is told twice.
    """
    with transaction.atomic():
        events = list(
            PendingEvent.objects.select_for_update(skip_locked=True).order_by("at", "id")[:BATCH]
        )
        tools = Tool.objects.select_related("package").in_bulk(
            [event.tool_id for event in events if event.tool_id]
        )
        packages = Package.objects.in_bulk(list(filter(None, map(_package_of, events))))
        deliveries = []
        for event in events:
            tool = tools.get(event.tool_id) if event.tool_id else None
            of = _package_of(event)
            deliveries += _deliveries(event, tool, packages.get(of) if of else None)
        EventDelivery.objects.bulk_create(_addressed(deliveries), ignore_conflicts=True)
        PendingEvent.objects.filter(pk__in=[event.pk for event in events]).delete()
    return len(events)


def _deliveries(
    event: PendingEvent, tool: Tool | None, package: Package | None
) -> list[EventDelivery]:
    found = hearers(event, tool, package)
    if not found:
        return []
    payload, name = payload_of(event, tool, package), event_id(event)
    return [
        EventDelivery(subscription=each, event_id=name, type=event.type, payload=payload)
        for each in found
    ]


def _addressed(deliveries: list[EventDelivery]) -> list[EventDelivery]:
    """Return the deliveries whose subscriptions were not deleted meanwhile, nor will be first."""
    wanted = {each.subscription_id for each in deliveries}
    rows = EventSubscription.objects.select_for_update(no_key=True).filter(pk__in=wanted)
    there = set(rows.order_by("pk").values_list("pk", flat=True))
    return [each for each in deliveries if each.subscription_id in there]


def _package_of(event: PendingEvent) -> UUID | None:
    text = event.facts.get("package")
    return UUID(text) if text else None
