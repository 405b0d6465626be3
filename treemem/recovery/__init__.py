"""Writes a new memory of what can be read of a damaged file, without SQLite's help."""
