"""Says where a message was said: the file, the line, and how its session is continued."""
