"""Reads trajectories of software agents; see importer.py."""
