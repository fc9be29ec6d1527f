"""Records: the stored values beside the runs, such as delta, manifest, metadata, tombstones."""
