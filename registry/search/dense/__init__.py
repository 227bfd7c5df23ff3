"""Vectors of tools and queries: what says the same in other words lies near."""
