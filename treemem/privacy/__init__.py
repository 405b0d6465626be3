"""Finds secrets in texts, keeps them out of the memory file, and removes them from it.

Read policy.py first, then redactor.py, assignments.py, patterns.py; scrub.py and reseal.py remove
secrets that are already stored.
"""
