"""Decides which sentences of the user's are rules for good, and which of them hold. In order:
lexicon, wording, succession, book, choices."""
