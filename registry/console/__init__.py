"""The console of governance: its first page, and the figures of its lists."""
