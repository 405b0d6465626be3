"""Searches several memory files at once.

A file for each person or project keeps them apart; a question may be about several of them.
"""
