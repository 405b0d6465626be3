"""Reads Slack exports. In order: importer, people."""
