"""What may be wrong with an event subscription."""

from http import HTTPStatus

from config.lib.errors import Conflict, DomainError


class EventAddressRefused(DomainError):
    """Events cannot be sent to this address."""

    code = "event_address_refused"
    status = HTTPStatus.UNPROCESSABLE_ENTITY


class TooManySubscriptions(Conflict):
    """You have as many event subscriptions as a person can have."""

    code = "too_many_subscriptions"


class DeliveryUnderWay(Conflict):
    """The event is being sent at this moment."""

    code = "delivery_under_way"
    default_hint = "Look at how it ended before you send it again."
