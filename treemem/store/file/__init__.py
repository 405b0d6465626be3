"""Keeps a memory file where it is: its modes, its marker, the files beside it, and what to do if
it is replaced while it is open."""
