"""Commands for the memory file itself: status, doctor, redact, scrub."""
