"""From a sample of texts, and pairs that people have judged, to options that suit them."""
