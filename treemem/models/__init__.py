"""Local models: which ones are known, how they are fetched, and a client that asks them.

In reading order: catalog (data), manifests (what is installed), sources and pulling
(how it got there), minilm (a conversion), chat (prompts), client and child (the caller's
side), host and llama (the side of the child process, the only one that loads llama.cpp).
"""
