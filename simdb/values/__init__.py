"""Values: documents and their sketches, which pass between all parts."""
