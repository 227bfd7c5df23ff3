"""What can go wrong with the embedded services."""


class EmbeddedServiceError(RuntimeError):
    """An embedded service could not be started; the message says which, where and what to do."""
