"""Reads Crush's sessions; see importer.py."""
