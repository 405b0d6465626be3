"""Copies a memory while it is in use, keeps copies by age, and brings them back.

A backup is one file, or a folder in which each piece of the file is stored once.
"""
