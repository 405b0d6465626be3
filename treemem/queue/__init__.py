"""Stores jobs in the memory file and limits what a run of them may spend.

Read jobs, budget, hours.
"""
