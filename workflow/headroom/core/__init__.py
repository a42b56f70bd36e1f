"""Names of heads, files, tables and statistics. No torch."""
