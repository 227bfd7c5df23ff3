"""What waits for review beside what is live: staged, decided on, adopted."""
