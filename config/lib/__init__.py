"""The bottom layer: small parts that know no model."""
