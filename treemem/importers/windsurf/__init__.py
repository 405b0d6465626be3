"""Reads Windsurf's transcripts."""
