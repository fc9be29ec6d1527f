"""The kernel's operations in numpy: slow, and used if the extension was not built."""
