"""Reads what slackdump writes. In order: importer, database, pages, lists."""
