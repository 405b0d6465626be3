"""Answers from the memory: questions with citations, a chat, and an API that chat programs know.

Read asking.py, then conversation.py and completions/routes.py.
"""
