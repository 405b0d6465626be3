"""Writes a memory as lines of JSON that need no treemem to be read, and takes such a file in."""
