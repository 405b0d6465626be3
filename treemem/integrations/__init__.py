"""Lets frameworks keep their conversations and items in a memory: one module for each framework,
none of which is imported unless it is asked for."""
