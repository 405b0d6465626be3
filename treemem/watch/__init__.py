"""Ingests logs as they grow. Read follower, debounce, fs_events, rotation, in this order."""
