"""Reads rooms of Matrix, as Element exports them. In order: importer, events."""
