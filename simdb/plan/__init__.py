"""Which method answers a question, and why; pure, returns data."""
