"""HTTP tools."""
