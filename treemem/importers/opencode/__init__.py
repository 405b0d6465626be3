"""Reads opencode's sessions. In order: importer, speech, db."""
