"""Reads logs and appended messages and stores each message once.

Read files.py first, then matching.py, torn_records.py, reconcile.py, append.py; walk.py and
discovery.py find the files, blobs.py keeps attachments.
"""
