"""State of a database: what readers see at one commit, and the documents on their way in."""
