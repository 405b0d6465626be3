"""Reads the database of Apple's Messages; see importer.py."""
