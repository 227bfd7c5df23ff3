"""Why a message to a webhook was not taken."""

from http import HTTPStatus

from config.lib.errors import DomainError


class SignatureInvalid(DomainError):
    """The message is not signed, or not as this webhook asks for."""

    code = "signature_invalid"
    status = HTTPStatus.UNAUTHORIZED
    default_hint = "Sign each message anew with the webhook's secret."


class WebhookOff(DomainError):
    """This webhook is switched off."""

    code = "webhook_off"
    status = HTTPStatus.FORBIDDEN
    default_hint = "Its owner can switch it on again."


class DeliveryInvalid(DomainError):
    """The message does not give the sequence the input that it needs."""

    code = "delivery_invalid"  # `extra.problems` has each with its path
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    default_hint = "Correct the message, or the webhook's mapping, and send it again."
