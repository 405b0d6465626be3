"""Reads expressions of time: what they mean in a question, and which days a message is about.

Read phrases.py first (the grammar, in English words), then names.py, languages.py, tense.py and
events.py.
"""
