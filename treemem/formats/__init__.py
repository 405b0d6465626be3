"""Lists the formats of logs, and finds the folders where their tools keep them."""
