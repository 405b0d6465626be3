"""Reads Cline's and Roo Code's tasks. In order: importer, speech, window."""
