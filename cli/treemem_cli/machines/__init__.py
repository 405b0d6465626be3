"""Commands that bring the memories of several machines together: merge, sync."""
