"""Reads what a page shows of a memory of any size: a bounded part of a list at a time.

Read api.py first.
"""
