"""Stores the messages of logs and of callers, each message once.

Read files.py first, then matching.py, torn_records.py, reconcile.py, renewal.py, append.py;
walk.py and discovery.py find the files, blobs.py writes attachments.
"""
