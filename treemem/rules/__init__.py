"""Decides which sentences of the user's are rules for good, and which later ones end them. In
order: lexicon, wording, succession. Which rules hold is told by ledger/rulebook.py."""
