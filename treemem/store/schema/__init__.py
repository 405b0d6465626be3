"""The DDL of a memory file: the tables that it begins with, and what later steps add."""
