"""Reads generic chats in JSON. In order: importer, messages."""
