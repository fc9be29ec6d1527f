"""The kernel's operations in numpy: slow, and used where the extension was not built."""
