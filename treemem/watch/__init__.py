"""Ingests logs as they grow. Read follower, debounce, fs_events, in this order."""
