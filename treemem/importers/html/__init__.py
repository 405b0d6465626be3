"""Reads HTML documents. In order: importer, tokens."""
