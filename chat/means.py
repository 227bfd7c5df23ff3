"""What a conversation adds to the circumstances of the calls that are made in it."""

from uuid import UUID

from chat.artifacts import ConversationArtifacts
from chat.models import Turn
from chat.variables import env_with_variables
from registry.context import CallContext


def of_turn(context: CallContext) -> CallContext:
    """Return the circumstances with those of the conversation that `turn_id` belongs to.

    It goes by the reference alone, so that the calls of a sequence, in another process, have the
    values that the conversation has at that moment. A conversation that was deleted adds nothing.
    """
    turn = Turn.objects.filter(pk=context.turn_id).first() if context.turn_id else None
    if turn is None:
        return context
    return of_conversation(context, turn.conversation_id)


def of_conversation(context: CallContext, conversation_id: UUID) -> CallContext:
    """Return the circumstances with those of a conversation."""
    return context.derive(
        env=env_with_variables(conversation_id, context.env),
        artifacts=ConversationArtifacts(conversation_id),
    )
