"""Reads Goose's sessions; see importer.py."""
