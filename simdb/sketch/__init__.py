"""From documents to fingerprints and volatility vectors; pure."""
