"""Core: the modules that every wing shares.

They hold errors, options, documents and results, Arrow columns, threads, memory and the compiled
kernel.  Nothing here knows a sketch, a file format or a database.  Other wings import names from
the module itself: `from simdb.core.errors import InputError`.
"""

__all__ = [
    "arrays", "arrow", "bits", "checks", "choices", "clusters", "cold", "compression", "decoding",
    "documents", "dtypes", "errors", "fields", "foreign", "keeping", "kernel", "matches", "memory",
    "options", "previews", "progress", "reports", "scales", "skipped", "stored_options",
    "text_sketch", "threads", "values", "vector_form",
]  # fmt: skip
