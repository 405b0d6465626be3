"""Writes for the programs of assistants: their configuration files, and texts that they read.

What serves assistants uses it: the MCP server and the hooks.
"""
