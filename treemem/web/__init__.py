"""Serves a page that shows a memory, and the API under it, to the user of this machine.

Read access.py (who is answered), app.py (what there is), and answers.py (how a page is made).
"""
