"""Files: where a database may be, which files it has, and what their pages hold."""
