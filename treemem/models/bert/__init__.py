"""Runs all-MiniLM-L6-v2 in numpy: its conversion, its tokens and its layers."""
