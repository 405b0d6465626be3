"""Lets a program use its own functions and objects as models."""
