"""Reads Cursor's conversations. In order: importer, speech, editor, agent, export."""
