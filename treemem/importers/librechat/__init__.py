"""The exports of LibreChat."""
