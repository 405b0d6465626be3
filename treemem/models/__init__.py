"""Fetches local models, runs them in a child process, and calls models behind servers.

Read catalog, manifests, sources, pulling, minilm; chat, client, child, host, llama, sampling,
embedding; endpoint, responses, serving; embedders, in this order.
"""
