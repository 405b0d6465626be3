"""The driver of a memory file, its key, and its encryption."""
