"""Keeps the memories of several machines equal through a folder that they share."""
