"""Review: what is proposed, what scans find in it, and what is decided."""
