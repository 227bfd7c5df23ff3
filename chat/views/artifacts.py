"""What tools made in a conversation."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from chat import selectors
from chat.downloads import attachment
from config.lib.http import SignedInRequest


@login_required
@require_safe
def artifact_download(request: SignedInRequest, artifact_id: UUID) -> HttpResponse:
    """Download an artifact of one of a person's conversations."""
    return attachment(selectors.artifact_of(request.user, artifact_id))
