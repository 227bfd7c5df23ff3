from chat.models.artifact import Artifact
from chat.models.bench import BenchCase, BenchResult, BenchRun
from chat.models.conversation import Conversation
from chat.models.discovered_tool import DiscoveredTool
from chat.models.input_request import InputRequest
from chat.models.message import Message
from chat.models.model_step import ModelStep
from chat.models.program_call import ProgramCall
from chat.models.queued_message import QueuedMessage
from chat.models.secret import ConversationSecret
from chat.models.turn import Turn
from chat.models.turn_event import TurnEvent

__all__ = [
    "Artifact",
    "BenchCase",
    "BenchResult",
    "BenchRun",
    "Conversation",
    "ConversationSecret",
    "DiscoveredTool",
    "InputRequest",
    "Message",
    "ModelStep",
    "ProgramCall",
    "QueuedMessage",
    "Turn",
    "TurnEvent",
]
