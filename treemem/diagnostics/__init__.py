"""Counts, checks and estimates. Read status, doctor, estimate, in this order."""
