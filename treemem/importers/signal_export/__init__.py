"""Reads the chats that Signal exports as text; see importer.py."""
