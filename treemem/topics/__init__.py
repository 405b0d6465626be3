"""Groups leaves of all sources into topics, and names the topics.

Read term_vectors.py, clustering.py, naming.py, store.py and assignment.py in this order.
"""
