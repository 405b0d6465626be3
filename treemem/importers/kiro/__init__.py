"""Reads Kiro's sessions. In order: importer, words, command_line, editor, executions."""
