"""Results: what searches return to users."""
