"""Records: the values beside the runs, from the documents of one commit to tombstones."""
