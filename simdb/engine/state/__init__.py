"""The state of a database: what is read, from the last commit to the documents that come in."""
