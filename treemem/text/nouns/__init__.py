"""Reads the nouns of texts, without a model.

Read marks.py, words.py and chunks.py in this order.
"""
