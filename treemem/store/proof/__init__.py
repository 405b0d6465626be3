"""Digests of all rows, by which a changed byte or column is found."""
