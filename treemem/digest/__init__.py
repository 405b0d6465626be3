"""Composes what a person sees first of a source, a topic or everything: a title and a headline.

Every word of them is true by construction: a count, a time, a name, or a quotation.
"""
