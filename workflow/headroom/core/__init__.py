"""Plain ground: names, files, tables and statistics. No torch."""
