"""Stores live sessions: their turns, pins, compactions and checkpoints. One module for each table,
or for two that belong together."""
