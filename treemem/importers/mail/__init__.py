"""Reads mail. In order: importer, body, html_text."""
