"""What the rest of the product may want to hear of agents."""

from django.dispatch import Signal

agent_ending = Signal()
"""An agent is about to be deleted with all that hangs on it: `agent`. Sent in the transaction that
deletes it."""
