"""Parts: paragraphs, lines and sentences that occur again leave the documents that they are in."""
