"""What a live assistant puts into its window each turn. In order: turns, shapes, repairs."""
