"""OpenAPI 3.0 and 3.1 documents: read, checked and turned into HTTP tools; no Django in here."""
