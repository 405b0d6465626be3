"""Commands that answer: ask, chat."""
