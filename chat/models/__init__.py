from chat.models.conversation import Conversation
from chat.models.message import Message
from chat.models.turn import Turn
from chat.models.turn_event import TurnEvent

__all__ = ["Conversation", "Message", "Turn", "TurnEvent"]
