"""Bring tools into the registry: the built-ins, and packages of npm."""
