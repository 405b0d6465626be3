"""Reads Word documents. In order: importer, word_xml."""
