"""Files: reading documents from them, and writing results to them."""
