"""Lists the plugins of installed packages, and tries whether one does what its role asks."""
