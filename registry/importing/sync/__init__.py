"""Look registries through for new packages and new versions; what is found becomes candidates."""
