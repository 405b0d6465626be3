"""Reads the llm tool's logs.db. In order: importer, tables, responses, turns."""
