"""The logs of Inspect."""
