"""Which keys a table stores and which key ranges a search asks; pure."""
