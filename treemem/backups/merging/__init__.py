"""Takes in what another memory file has: histories are united, forgetting and choices travel."""
