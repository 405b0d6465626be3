"""Groups leaves of all sources into topics, and names the topics.

Read profiles.py, subjects.py, chapters.py, clustering.py, naming.py, store.py and assignment.py in
this order.
"""
