"""Says what is in a file of an unknown format, without its words."""
