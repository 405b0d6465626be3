"""TODO: one sentence, and the order in which to read the files."""
