"""Finds what other installed packages add to treemem: importers, and models of each role."""
