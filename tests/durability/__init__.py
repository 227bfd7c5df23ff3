"""What outlives what: the product on servers of its own, all of which may be killed."""

FILE = "OUTFITTER_TEST_CALLS"
"""The variable that names the file of the calls; its lines are `run tool step`."""
