"""Settings: what users choose, and how it is stored."""
