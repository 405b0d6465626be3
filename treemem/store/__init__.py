"""Stores everything in one SQLite file; each module has the SQL of its tables.

Read schema/spine, database, migrations, sources, messages, summaries, vectors, settings,
imported_files, usage.
"""
