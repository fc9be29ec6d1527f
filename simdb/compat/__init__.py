"""Other libraries' interfaces on top of this one, for programs that change one import."""
