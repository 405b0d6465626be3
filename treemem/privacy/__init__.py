"""Finds secrets in texts, keeps them out of the memory file, and removes them from it.

Read policy.py first, then redactor.py and what it asks: tokens.py, commands.py, assignments.py
(with tables.py), private_keys.py and denied.py. values.py judges values, and patterns.py has the
data. scrub.py and reseal.py remove secrets that are already stored.
"""
