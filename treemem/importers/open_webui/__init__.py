"""The chats of Open WebUI."""
