"""A worked example: three days of one developer's session log, and questions that only it
can answer. The log is made up, with every person, farm and number in it.
"""
