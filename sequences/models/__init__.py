from sequences.models.run import Run
from sequences.models.run_step import RunStep

__all__ = ["Run", "RunStep"]
