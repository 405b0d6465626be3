"""The sessions of Factory's droid."""
