"""Summarizers: the extractive one, which needs no model, and the one that asks llama.cpp."""
