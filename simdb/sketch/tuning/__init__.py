"""Tuning: options that suit a sample of texts, and pairs that people have judged."""
