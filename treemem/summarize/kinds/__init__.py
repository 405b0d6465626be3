"""Decides what kind of statement a sentence is, from its words and from where it is said.

Read place.py first. Each kind has a module with its phrases; empty.py knows the sentences that
state nothing. detectors.py, above this folder, asks them in order of precedence.
"""
