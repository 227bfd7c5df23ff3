"""Which encoder is set."""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from registry.search.dense.encoder import Encoder, EncoderUnavailable

AUTO, LOCAL, OFF = "auto", "local", "off"
REMOTE = "litellm"


def chosen_encoder() -> Encoder | None:
    """Return the encoder that OUTFITTER_EMBEDDINGS names; None where search goes without.

    Raises EncoderUnavailable, with what to do, where one is named that is not there.
    """
    return _encoder(settings.EMBEDDINGS)


@cache
def _encoder(setting: str) -> Encoder | None:
    if setting == OFF:
        return None
    if setting not in (AUTO, LOCAL):
        remote: Encoder = import_string(settings.EMBEDDING_ENCODERS[REMOTE])(setting)
        return remote
    try:
        local: Encoder = import_string(settings.EMBEDDING_ENCODERS[LOCAL])(settings.MODELS_DIR)
    except EncoderUnavailable:
        if setting == LOCAL:
            raise
        return None
    return local


def is_remote() -> bool:
    """Say whether texts are sent to a provider to be encoded."""
    return settings.EMBEDDINGS not in (AUTO, LOCAL, OFF)
