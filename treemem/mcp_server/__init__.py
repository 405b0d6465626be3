"""Serves a memory to assistants by the Model Context Protocol.

Needs the package `mcp`, the extra of the same name; nothing else in treemem imports this folder.
"""
