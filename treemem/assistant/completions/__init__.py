"""Serves conversations that remember by the API of OpenAI's chat completions.

Read protocol.py, history.py and routes.py in this order.
"""
