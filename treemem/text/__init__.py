"""Reads texts: counts tokens, splits sentences and windows, finds words in every script.

Read tokens.py, windows.py and sentences.py first, then scripts.py, unicode_forms.py and fts.py,
then stemmers.py, stop_words.py, bm25.py and cache.py.
"""
