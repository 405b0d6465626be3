"""Contains the Importer contract and shared readers for JSON Lines, archives and SQLite. In order:
base, source_ids, records, coerce, content, attachments, sdk_blocks, conversation, documents,
rendered, sniffing, json_members, exports, branches, archives, sqlite_files."""
