"""The product's own labelled set: tools as the product describes them, and what finds them."""

from pathlib import Path

FOLDER = Path(__file__).parent
TOOLS, QUERIES = FOLDER / "tools.jsonl", FOLDER / "queries.jsonl"
