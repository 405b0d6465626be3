"""Reads OpenHands' conversations; see importer.py."""
