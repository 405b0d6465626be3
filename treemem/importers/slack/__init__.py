"""Reads Slack exports. In order: importer, speech, people."""
