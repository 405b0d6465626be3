"""Checks statements against the messages they cite, and against each other, without a model.

Read check.py, clauses.py, alignment.py, words.py, lexicon.py and relations.py in this order.
"""
