"""Reads Claude Code's session logs. In order: importer, records, survey, speech."""
