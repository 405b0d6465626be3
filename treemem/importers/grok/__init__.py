"""The data export of Grok."""
