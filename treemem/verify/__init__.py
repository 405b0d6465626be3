"""Checks statements against the messages they cite, and against each other, without a model.

The check of close wording: read check.py, clauses.py, alignment.py, words.py and lexicon.py in this
order. Grades of freer wording: grading.py, guards.py, evidence.py, people.py, assertion.py,
anchors.py,
dates.py and terms.py. Relations between statements: relations.py.
"""
