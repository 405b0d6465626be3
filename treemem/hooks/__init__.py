"""What Claude Code calls when a session begins and ends, so that a memory goes along with it."""
