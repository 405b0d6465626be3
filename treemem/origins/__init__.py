"""Decides whose words each stretch of a message is. In order: spans, wrappers, pasted, marking."""
