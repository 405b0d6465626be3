"""Stores jobs in the memory file and limits the calls, tokens and time of a run.

Read jobs, budget, hours.
"""
