"""Output: results, notes, progress, files and exit codes."""
