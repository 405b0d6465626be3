"""Commands that find and read log files: discover, formats, plan, ingest, watch."""
