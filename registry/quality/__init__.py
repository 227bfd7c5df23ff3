"""How good a tool is, from 0 to 1: what it says of itself, and what was seen of it."""
