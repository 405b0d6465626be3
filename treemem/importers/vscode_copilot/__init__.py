"""Reads the chats of VS Code's editors. In order: importer, changes, speech, calls."""
