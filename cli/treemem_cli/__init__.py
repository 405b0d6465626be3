"""Parses commands and prints results. Read main, context, parameters, render, then any command."""
