"""Compacts the log of any tool into one that fits a window, in the log's own format."""
