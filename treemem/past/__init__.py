"""Shows a memory as of a past time, made in RAM of what had been said until then."""
