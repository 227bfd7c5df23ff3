"""What the rest of the product may want to hear of runs."""

from django.dispatch import Signal

run_moved = Signal()
"""A run that a conversation called, and that waited for a person, goes on or is over: `run_id`.
Sent once that is committed."""
