"""What starts a sequence besides a person and a model: schedules and signed webhooks."""
