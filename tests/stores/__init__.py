"""The SQLite store: its schema, its connections, its committing thread."""
