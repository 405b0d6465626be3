"""A plugin of each kind for treemem, to begin from."""
