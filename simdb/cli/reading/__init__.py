"""Reading: files, folders and standard input as a stream of records."""
