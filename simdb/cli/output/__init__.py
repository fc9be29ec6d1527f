"""Output: everything a command gives back, from result rows to exit codes."""
