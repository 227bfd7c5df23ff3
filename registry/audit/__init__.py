"""Read, export and clear away what was recorded: changes of what is governed, and calls."""
