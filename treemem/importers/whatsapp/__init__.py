"""Reads WhatsApp exports. In order: importer, lines."""
