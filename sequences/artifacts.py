"""Keep the files that tools save in a run with the run, and read them again in later steps."""

from typing import Any

from django.db.models import QuerySet

from registry.artifact_store import ArtifactStore
from registry.context import Artifacts
from registry.errors import ArtifactNotFound
from sequences.models import Run, RunArtifact, RunStep


class RunArtifacts(ArtifactStore):
    """The artifacts of one run, saved by one of its steps.

    What the run does not have is looked for in the run around it, and then in the conversation that
    began it (`around`). Nothing is saved there.
    """

    owner = "run"

    def __init__(self, run: Run, step: RunStep | None, *, around: Artifacts | None = None) -> None:
        self._run, self._step, self._around = run, step, around

    def rows(self) -> QuerySet[RunArtifact]:
        """Return the rows of the run's artifacts."""
        return RunArtifact.objects.filter(run=self._run)

    def lock(self) -> None:
        """Let no other artifact of the run be kept until the transaction ends."""
        Run.objects.select_for_update(no_key=True).get(pk=self._run.pk)

    def create(self, **fields: Any) -> RunArtifact:
        """Make a row of these fields."""
        return RunArtifact.objects.create(run=self._run, step=self._step, **fields)

    def read(self, name: str, version: int | None = None) -> str:
        """Return the text of an artifact, of its latest version unless one is named.

        Raises ArtifactNotFound, which names those of the run.
        """
        try:
            return super().read(name, version)
        except ArtifactNotFound as here:
            outer = self._outer()
            if outer is None:
                raise
            try:
                return outer.read(name, version)
            except ArtifactNotFound:
                raise here from None

    def _outer(self) -> Artifacts | None:
        parent = self._run.parent_step
        return (
            self._around if parent is None else RunArtifacts(parent.run, None, around=self._around)
        )
