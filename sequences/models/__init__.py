from sequences.models.draft import DraftOutput, DraftRevision, SampleInput, SequenceDraft
from sequences.models.run import Run
from sequences.models.run_artifact import RunArtifact
from sequences.models.run_request import RunRequest
from sequences.models.run_step import RunStep
from sequences.models.schedule import Schedule
from sequences.models.version_name import VersionName
from sequences.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "DraftOutput",
    "DraftRevision",
    "Run",
    "RunArtifact",
    "RunRequest",
    "RunStep",
    "SampleInput",
    "Schedule",
    "SequenceDraft",
    "VersionName",
    "Webhook",
    "WebhookDelivery",
]
