"""Commands that show what is stored: search, source, tree, node, topic."""
