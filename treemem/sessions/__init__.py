"""What a live assistant puts into its window each turn: its turns, compacted as the window fills,
what is pinned, what the memory knows, and how all of it is got back."""
