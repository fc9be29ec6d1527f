"""Files: where a database may lie, which files it has, and what their pages hold."""
