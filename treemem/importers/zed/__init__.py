"""Reads the threads of Zed's agent; see importer.py."""
