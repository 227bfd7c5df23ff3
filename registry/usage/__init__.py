"""How tools are used: sums of calls, written by `rolling`, read by `selectors`."""
