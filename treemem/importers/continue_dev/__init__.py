"""Reads Continue's sessions; see importer.py."""
