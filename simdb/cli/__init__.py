"""Command line: one module for each command, which parses, calls and prints."""
