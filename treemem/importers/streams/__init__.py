"""Turns the bytes of a file into those that importers read; see heads.py for detection."""
