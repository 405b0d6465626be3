"""Reads Codex's rollouts. In order: importer, items, survey."""
