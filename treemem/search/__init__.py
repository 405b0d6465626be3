"""Answers a question with the passages of a memory that fit a budget of tokens.

Read engine.py first, then its steps: query.py (with intent.py, date_filter.py),
history.py, candidates.py, weights.py, scoring.py, statements.py, packing.py, selection.py,
snippets.py and context.py.
"""
