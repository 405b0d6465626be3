"""Does with a loaded model what is asked of it, in the child process: generates text, computes
vectors, and scores continuations."""
