"""Forgets messages: deletes them, all that was made of them, and every byte of them in the file.

selection.py chooses the messages, preview.py counts what goes with them, words.py finds their words
in other texts, removal.py removes them, and tombstones.py keeps logs from bringing them back.
"""
