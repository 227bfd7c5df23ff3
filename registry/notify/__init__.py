"""Event subscriptions: tell people's programs what happened (outgoing webhooks).

A trigger writes a `PendingEvent` (`registry.models.event_triggers`); `spreading` makes a delivery
of it for each subscription that may hear of it; `delivering` sends, tries again and gives up.
"""
