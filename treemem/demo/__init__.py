"""A demo: three days of a developer's session log, and questions that only it can answer.

All people, farms and numbers in it are fictional.
"""
