"""Reads Antigravity's conversations. In order: importer, families, transcript, database."""
