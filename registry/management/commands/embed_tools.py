"""`manage.py embed_tools`."""

import time
from argparse import ArgumentParser
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from registry.search.dense.bert import INSTALL
from registry.search.dense.choice import chosen_encoder
from registry.search.dense.encoder import Encoder, EncoderUnavailable
from registry.search.dense.progress import vector_progress
from registry.search.dense.storing import vectors_ensure, vectors_round

PAUSE_SECONDS = 1.0
"""Before looking again at what a worker has claimed."""


class Command(BaseCommand):
    """Work out the vectors of tools for search by meaning, here and now."""

    help = (
        "Work out the vectors of the tools whose text is new or changed, here and now, with a bar; "
        "the worker does the same by itself. May be broken off and started again. Exits with 1 "
        "when the encoder gives none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take whether to begin anew."""
        parser.add_argument("--again", action="store_true", help="also for texts without a change")

    def handle(self, *_args: Any, again: bool, **_options: Any) -> None:
        """Work until no tool waits."""
        try:
            encoder = chosen_encoder()
            if encoder is None:
                raise CommandError(
                    f"There is no encoder. `{INSTALL}` installs the local model, or name one in "
                    "OUTFITTER_EMBEDDINGS (docs/reference/settings.md)."
                )
            self._work(encoder, again=again)
        except EncoderUnavailable as problem:
            raise CommandError(f"{problem} What is done is kept; try again.") from problem
        progress = vector_progress(encoder)
        if progress.refused:
            self.stderr.write(f"{progress.refused} texts were refused by {progress.encoder}.")
        count = f"{progress.stored} tool{'' if progress.stored == 1 else 's'}"
        self.stdout.write(self.style.SUCCESS(f"{count} with a vector by {progress.encoder}."))

    def _work(self, encoder: Encoder, *, again: bool) -> None:
        left = vectors_ensure(encoder, again=again)
        with Progress(console=Console(file=cast(IO[str], self.stderr))) as progress:
            bar = progress.add_task(encoder.name, total=left)
            while left:
                if not vectors_round(encoder):
                    time.sleep(PAUSE_SECONDS)  # a worker is at the rest
                left = vector_progress(encoder).waiting
                progress.update(bar, completed=max(0, (progress.tasks[0].total or 0) - left))
