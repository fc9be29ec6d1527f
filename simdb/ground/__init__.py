"""Ground: what every other module stands on, and nothing of simdb below it."""
