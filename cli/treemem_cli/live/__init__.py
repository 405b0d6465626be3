"""Commands for live sessions, and for logs that are to fit a window."""
