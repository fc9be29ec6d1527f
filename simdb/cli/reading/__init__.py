"""Reading: turns files, folders and standard input into a stream of records."""
