"""Answers programs: the methods of Memory as JSON, under /api/v1.

Read calls.py (what there is), endpoints.py (how arguments are read), and answering.py.
"""
