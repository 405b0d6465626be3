"""The sessions of xAI's agent for the command line, Grok Build."""
