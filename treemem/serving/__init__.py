"""Shares what the servers need: opening the memory, listening, and refusing forged requests."""
