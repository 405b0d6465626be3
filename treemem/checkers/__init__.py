"""Judges with a model whether lines of a log support a note."""
