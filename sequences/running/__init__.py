"""Play the definition of a sequence: what was done is read from the run's rows, the rest is done.

`execute` and `play` are the ways in. A run may be taken up at any point: steps whose rows have
ended are taken over, so a worker that dies, a person who is asked and a shutdown differ only in
when the next worker goes on.
"""

from sequences.running.playing import execute, play

__all__ = ["execute", "play"]
