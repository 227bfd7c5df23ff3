"""The guarded client."""
