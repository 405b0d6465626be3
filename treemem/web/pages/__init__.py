"""Answers the pages: each module has the routes of one, and reads what its template shows."""
