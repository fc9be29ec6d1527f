"""Compatibility: the interfaces of other libraries, for programs that change only one import."""
