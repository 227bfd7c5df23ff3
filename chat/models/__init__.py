from chat.models.artifact import Artifact
from chat.models.conversation import Conversation
from chat.models.message import Message
from chat.models.secret import ConversationSecret
from chat.models.turn import Turn
from chat.models.turn_event import TurnEvent

__all__ = ["Artifact", "Conversation", "ConversationSecret", "Message", "Turn", "TurnEvent"]
