"""Stores everything in one SQLite file; each module has the SQL of its tables.

Read database, migrations, sources, messages, summaries, vectors, settings, imported_files, usage.
"""
