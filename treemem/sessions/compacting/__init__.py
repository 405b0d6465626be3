"""Makes a window smaller, and composes what stands in it for the turns that it no longer shows."""
